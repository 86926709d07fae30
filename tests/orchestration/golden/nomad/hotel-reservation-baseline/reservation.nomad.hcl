# reservation of hotel-reservation: 1 replica, scaling baseline
job "test-reservation" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "test"
    "loadstone.service"    = "reservation"
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

  group "reservation" {
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
        to = 8087
      }
      port "admin" {
        to = 9087
      }
    }

    service {
      name     = "test-reservation"
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

    task "reservation" {
      driver = "docker"

      config {
        image             = "loadstone/stone:0.1.0"
        args              = ["serve", "hotel/reservation"]
        ports             = ["grpc", "admin"]
        cpu_hard_limit    = true
        memory_hard_limit = 256

        labels = {
          "loadstone.deployment" = "test"
          "loadstone.service"    = "reservation"
        }
      }

      env = {
        STONE_LISTEN         = "0.0.0.0:8087"
        STONE_ADMIN          = "0.0.0.0:9087"
        STONE_PROFILE        = ""
        STONE_LOG_LEVEL      = "info"
        STONE_STORE_PASSWORD = "{store_password}"
      }

      template {
        destination = "local/stores.env"
        change_mode = "restart"
        env         = true

        data = <<EOT
STONE_NEED_MEMCACHED_RESERVE={{ range $i, $one := service "test-memcached-reserve" }}{{ if $i }},{{ end }}{{ .Address }}:{{ .Port }}{{ end }}
STONE_DOCUMENTS={{ with service "test-documents-reservation" }}{{ with index . 0 }}postgres://postgres@{{ .Address }}:{{ .Port }}/postgres?sslmode=disable{{ end }}{{ end }}
EOT
      }

      resources {
        cpu    = 1000
        memory = 10
      }
    }
  }
}
