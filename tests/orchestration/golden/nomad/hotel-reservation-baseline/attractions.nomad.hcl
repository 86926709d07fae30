# attractions of hotel-reservation: 1 replica, scaling baseline
job "test-attractions" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "test"
    "loadstone.service"    = "attractions"
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

  group "attractions" {
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
        to = 8089
      }
      port "admin" {
        to = 9089
      }
    }

    service {
      name     = "test-attractions"
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

    task "attractions" {
      driver = "docker"

      config {
        image             = "loadstone/stone:0.1.0"
        args              = ["serve", "hotel/attractions"]
        ports             = ["grpc", "admin"]
        cpu_hard_limit    = true
        memory_hard_limit = 256

        labels = {
          "loadstone.deployment" = "test"
          "loadstone.service"    = "attractions"
        }
      }

      env = {
        STONE_LISTEN         = "0.0.0.0:8089"
        STONE_ADMIN          = "0.0.0.0:9089"
        STONE_PROFILE        = ""
        STONE_LOG_LEVEL      = "info"
        STONE_STORE_PASSWORD = "{store_password}"
      }

      template {
        destination = "local/stores.env"
        change_mode = "restart"
        env         = true

        data = <<EOT
STONE_DOCUMENTS={{ with service "test-documents-attractions" }}{{ with index . 0 }}postgres://postgres@{{ .Address }}:{{ .Port }}/postgres?sslmode=disable{{ end }}{{ end }}
EOT
      }

      resources {
        cpu    = 1000
        memory = 10
      }
    }
  }
}
