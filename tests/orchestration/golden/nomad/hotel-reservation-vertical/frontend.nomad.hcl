# frontend of hotel-reservation: 1 replica, scaling vertical
job "test-frontend" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "test"
    "loadstone.service"    = "frontend"
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
        type                     = "http"
        path                     = "/readyz"
        port                     = "admin"
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
        memory_hard_limit = 512

        labels = {
          "loadstone.deployment" = "test"
          "loadstone.service"    = "frontend"
        }
      }

      env = {
        STONE_LISTEN              = "0.0.0.0:5000"
        STONE_ADMIN               = "0.0.0.0:9000"
        STONE_NEED_SEARCH         = "file:/local/need-search"
        STONE_NEED_PROFILE        = "file:/local/need-profile"
        STONE_NEED_RECOMMENDATION = "file:/local/need-recommendation"
        STONE_NEED_USER           = "file:/local/need-user"
        STONE_NEED_RESERVATION    = "file:/local/need-reservation"
        STONE_NEED_REVIEW         = "file:/local/need-review"
        STONE_NEED_ATTRACTIONS    = "file:/local/need-attractions"
        STONE_PROFILE             = ""
        STONE_LOG_LEVEL           = "info"
      }

      template {
        destination = "local/need-search"
        change_mode = "noop"

        data = <<EOT
{{ range $i, $one := service "test-search|any" }}{{ if $i }},{{ end }}{{ .Address }}:{{ .Port }}{{ end }}
EOT

        wait {
          min = "500ms"
          max = "2s"
        }
      }

      template {
        destination = "local/need-profile"
        change_mode = "noop"

        data = <<EOT
{{ range $i, $one := service "test-profile|any" }}{{ if $i }},{{ end }}{{ .Address }}:{{ .Port }}{{ end }}
EOT

        wait {
          min = "500ms"
          max = "2s"
        }
      }

      template {
        destination = "local/need-recommendation"
        change_mode = "noop"

        data = <<EOT
{{ range $i, $one := service "test-recommendation|any" }}{{ if $i }},{{ end }}{{ .Address }}:{{ .Port }}{{ end }}
EOT

        wait {
          min = "500ms"
          max = "2s"
        }
      }

      template {
        destination = "local/need-user"
        change_mode = "noop"

        data = <<EOT
{{ range $i, $one := service "test-user|any" }}{{ if $i }},{{ end }}{{ .Address }}:{{ .Port }}{{ end }}
EOT

        wait {
          min = "500ms"
          max = "2s"
        }
      }

      template {
        destination = "local/need-reservation"
        change_mode = "noop"

        data = <<EOT
{{ range $i, $one := service "test-reservation|any" }}{{ if $i }},{{ end }}{{ .Address }}:{{ .Port }}{{ end }}
EOT

        wait {
          min = "500ms"
          max = "2s"
        }
      }

      template {
        destination = "local/need-review"
        change_mode = "noop"

        data = <<EOT
{{ range $i, $one := service "test-review|any" }}{{ if $i }},{{ end }}{{ .Address }}:{{ .Port }}{{ end }}
EOT

        wait {
          min = "500ms"
          max = "2s"
        }
      }

      template {
        destination = "local/need-attractions"
        change_mode = "noop"

        data = <<EOT
{{ range $i, $one := service "test-attractions|any" }}{{ if $i }},{{ end }}{{ .Address }}:{{ .Port }}{{ end }}
EOT

        wait {
          min = "500ms"
          max = "2s"
        }
      }

      resources {
        cpu    = 2000
        memory = 10
      }
    }
  }
}
