# order of shop: 1 replica, scaling baseline
job "shop-order" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "shop"
    "loadstone.service"    = "order"
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

  group "order" {
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
        static = 8080
        to     = 8080
      }
      port "admin" {
        to = 9080
      }
    }

    service {
      name     = "shop-order"
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

    task "order" {
      driver = "docker"

      config {
        image             = "loadstone/stone:0.1.0"
        args              = ["serve", "shop/order"]
        ports             = ["http", "admin"]
        cpu_hard_limit    = true
        memory_hard_limit = 512

        labels = {
          "loadstone.deployment" = "shop"
          "loadstone.service"    = "order"
        }
      }

      env = {
        STONE_LISTEN            = "0.0.0.0:8080"
        STONE_ADMIN             = "0.0.0.0:9080"
        STONE_NEED_USER         = "file:/local/need-user"
        STONE_NEED_PAYMENT      = "file:/local/need-payment"
        STONE_PROFILE           = ""
        STONE_LOG_LEVEL         = "info"
        STONE_STORE_PASSWORD    = "{store_password}"
        STONE_TASK_LARGE_FILE   = "2400000"
        STONE_TASK_SMALL_FILE   = "140"
        STONE_TASK_SMALL_ROUNDS = "10"
        STONE_TASK_SYNC         = "false"
        STONE_TASK_KEEP         = "true"
        STONE_DATA              = "/data"
      }

      template {
        destination = "local/need-user"
        change_mode = "noop"

        data = <<EOT
{{ range $i, $one := service "shop-user|any" }}{{ if $i }},{{ end }}{{ .Address }}:{{ .Port }}{{ end }}
EOT

        wait {
          min = "500ms"
          max = "2s"
        }
      }

      template {
        destination = "local/need-payment"
        change_mode = "noop"

        data = <<EOT
{{ range $i, $one := service "shop-payment|any" }}{{ if $i }},{{ end }}{{ .Address }}:{{ .Port }}{{ end }}
EOT

        wait {
          min = "500ms"
          max = "2s"
        }
      }

      template {
        destination = "local/stores.env"
        change_mode = "restart"
        env         = true

        data = <<EOT
STONE_DOCUMENTS={{ with service "shop-postgres-order" }}{{ with index . 0 }}postgres://postgres@{{ .Address }}:{{ .Port }}/postgres?sslmode=disable{{ end }}{{ end }}
EOT
      }

      resources {
        cpu    = 1000
        memory = 10
      }
    }
  }
}
