# search of hotel-reservation: 2 replicas, scaling horizontal
job "test-search" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "test"
    "loadstone.service"    = "search"
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

  group "search" {
    count = 2

    # Always and where it was; elsewhere only if its node is lost.
    restart {
      attempts = 10
      interval = "1m"
      delay    = "1s"
      mode     = "delay"
    }

    network {
      port "grpc" {
        to = 8082
      }
      port "admin" {
        to = 9082
      }
    }

    service {
      name     = "test-search"
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

    task "search" {
      driver = "docker"

      config {
        image             = "loadstone/stone:0.1.0"
        args              = ["serve", "hotel/search"]
        ports             = ["grpc", "admin"]
        cpu_hard_limit    = true
        memory_hard_limit = 256

        labels = {
          "loadstone.deployment" = "test"
          "loadstone.service"    = "search"
        }
      }

      env = {
        STONE_LISTEN    = "0.0.0.0:8082"
        STONE_ADMIN     = "0.0.0.0:9082"
        STONE_NEED_GEO  = "file:/local/need-geo"
        STONE_NEED_RATE = "file:/local/need-rate"
        STONE_PROFILE   = ""
        STONE_LOG_LEVEL = "info"
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

      template {
        destination = "local/need-rate"
        change_mode = "noop"

        data = <<EOT
{{ range $i, $one := service "test-rate|any" }}{{ if $i }},{{ end }}{{ .Address }}:{{ .Port }}{{ end }}
EOT

        wait {
          min = "500ms"
          max = "2s"
        }
      }

      resources {
        cpu    = 1000
        memory = 10
      }
    }
  }
}
