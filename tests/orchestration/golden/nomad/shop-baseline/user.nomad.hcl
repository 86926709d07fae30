# user of shop: 1 replica, scaling baseline
job "shop-user" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "shop"
    "loadstone.service"    = "user"
  }

  constraint {
    attribute = "${node.unique.name}"
    operator  = "set_contains_any"
    value     = "worker-1,worker-2,worker-3"
  }

  spread {
    attribute = "${node.unique.name}"
  }

  # All at once: a job that is still being rolled out could not be scaled.
  update {
    max_parallel = 0
  }

  group "user" {
    count = 1

    # Always and where it was; elsewhere only if its node is lost.
    restart {
      attempts = 10
      interval = "1m"
      delay    = "1s"
      mode     = "delay"
    }

    network {
      port "http" {
        to = 8081
      }
      port "admin" {
        to = 9081
      }
    }

    service {
      name     = "shop-user"
      provider = "consul"
      port     = "http"
      tags     = ["loadstone.deployment=shop"]

      check {
        type                     = "http"
        path                     = "/readyz"
        port                     = "admin"
        interval                 = "2s"
        timeout                  = "5s"
        failures_before_critical = 10
      }
    }

    task "user" {
      driver = "docker"

      config {
        image             = "loadstone/stone:0.1.0"
        args              = ["serve", "shop/user"]
        ports             = ["http", "admin"]
        cpu_hard_limit    = true
        memory_hard_limit = 256

        labels = {
          "loadstone.deployment" = "shop"
          "loadstone.service"    = "user"
        }
      }

      env = {
        STONE_LISTEN         = "0.0.0.0:8081"
        STONE_ADMIN          = "0.0.0.0:9081"
        STONE_PROFILE        = ""
        STONE_LOG_LEVEL      = "info"
        STONE_STORE_PASSWORD = "{store_password}"
        STONE_TASK_LINPACK   = "400"
      }

      template {
        destination = "local/stores.env"
        change_mode = "restart"
        env         = true

        data = <<EOT
STONE_DOCUMENTS={{ with service "shop-postgres-user" }}{{ with index . 0 }}postgres://postgres@{{ .Address }}:{{ .Port }}/postgres?sslmode=disable{{ end }}{{ end }}
EOT
      }

      resources {
        cpu    = 1000
        memory = 10
      }
    }
  }
}
