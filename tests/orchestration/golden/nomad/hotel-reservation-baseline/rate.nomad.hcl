# rate of hotel-reservation: 1 replica, scaling baseline
job "test-rate" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "test"
    "loadstone.service"    = "rate"
  }

  constraint {
    attribute = "${node.unique.name}"
    operator  = "set_contains_any"
    value     = "worker-1,worker-2"
  }

  spread {
    attribute = "${node.unique.name}"
  }

  # All at once: a job that is still being rolled out could not be scaled.
  update {
    max_parallel = 0
  }

  group "rate" {
    count = 1

    # Always and where it was; elsewhere only if its node is lost.
    restart {
      attempts = 10
      interval = "1m"
      delay    = "1s"
      mode     = "delay"
    }

    network {
      port "grpc" {
        to = 8084
      }
      port "admin" {
        to = 9084
      }
    }

    service {
      name     = "test-rate"
      provider = "consul"
      port     = "grpc"
      tags     = ["loadstone.deployment=test"]

      check {
        type                     = "http"
        path                     = "/readyz"
        port                     = "admin"
        interval                 = "2s"
        timeout                  = "5s"
        failures_before_critical = 10
      }
    }

    task "rate" {
      driver = "docker"

      config {
        image             = "loadstone/stone:0.1.0"
        args              = ["serve", "hotel/rate"]
        ports             = ["grpc", "admin"]
        cpu_hard_limit    = true
        memory_hard_limit = 256

        labels = {
          "loadstone.deployment" = "test"
          "loadstone.service"    = "rate"
        }
      }

      env = {
        STONE_LISTEN         = "0.0.0.0:8084"
        STONE_ADMIN          = "0.0.0.0:9084"
        STONE_PROFILE        = ""
        STONE_LOG_LEVEL      = "info"
        STONE_STORE_PASSWORD = "{store_password}"
      }

      template {
        destination = "local/stores.env"
        change_mode = "restart"
        env         = true

        data = <<EOT
STONE_NEED_MEMCACHED_RATE={{ range $i, $one := service "test-memcached-rate" }}{{ if $i }},{{ end }}{{ .Address }}:{{ .Port }}{{ end }}
STONE_DOCUMENTS={{ with service "test-documents-rate" }}{{ with index . 0 }}postgres://postgres@{{ .Address }}:{{ .Port }}/postgres?sslmode=disable{{ end }}{{ end }}
EOT
      }

      resources {
        cpu    = 1000
        memory = 10
      }
    }
  }
}
