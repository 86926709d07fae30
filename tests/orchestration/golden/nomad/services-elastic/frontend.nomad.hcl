# frontend of services: 1 replica, scaling baseline
job "test-frontend" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "test"
    "loadstone.service"    = "frontend"
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

  group "frontend" {
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
        static = 5000
        to     = 5000
      }
      port "admin" {
        to = 9000
      }
    }

    service {
      name     = "test-frontend"
      provider = "consul"
      port     = "http"
      tags     = ["loadstone.deployment=test"]

      check {
        type                     = "tcp"
        port                     = "http"
        interval                 = "2s"
        timeout                  = "5s"
        failures_before_critical = 10
      }
    }

    task "frontend" {
      driver = "docker"

      config {
        image             = "loadstone/stone:0.1.0"
        args              = ["serve", "hotel/frontend"]
        ports             = ["http", "admin"]
        cpu_hard_limit    = true
        memory_hard_limit = 64

        labels = {
          "loadstone.deployment" = "test"
          "loadstone.service"    = "frontend"
        }
      }

      env = {
        STONE_LISTEN        = "0.0.0.0:5000"
        STONE_ADMIN         = "0.0.0.0:9000"
        STONE_NEED_GEO      = "file:/local/need-geo"
        STONE_PROFILE       = ""
        STONE_LOG_LEVEL     = "info"
        STONE_TRACES        = "198.18.0.5:4317"
        STONE_TRACES_SAMPLE = "1"
      }

      template {
        destination = "local/need-geo"
        change_mode = "noop"

        data = <<EOT
{{ range $i, $one := service "test-geo|any" }}{{ if $i }},{{ end }}{{ .Address }}:{{ .Port }}{{ end }}
EOT

        wait {
          min = "500ms"
          max = "2s"
        }
      }

      resources {
        cpu    = 500
        memory = 10
      }
    }
  }
}
