# geo of services: 1 replica, scaling baseline
job "test-geo" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "test"
    "loadstone.service"    = "geo"
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

  group "geo" {
    count = 1

    # Always and where it was; elsewhere only if its node is lost.
    restart {
      attempts = 10
      interval = "1m"
      delay    = "1s"
      mode     = "delay"
    }

    network {
      port "admin" {
        to = 9083
      }
      port "grpc" {
        to = 8083
      }
    }

    service {
      name     = "test-geo"
      provider = "consul"
      port     = "grpc"
      tags     = ["loadstone.deployment=test"]

      check {
        type                     = "tcp"
        port                     = "grpc"
        interval                 = "2s"
        timeout                  = "5s"
        failures_before_critical = 10
      }
    }

    task "geo" {
      driver = "docker"

      config {
        image             = "loadstone/stone:0.1.0"
        args              = ["serve", "hotel/geo"]
        ports             = ["admin", "grpc"]
        cpu_hard_limit    = true
        memory_hard_limit = 32

        labels = {
          "loadstone.deployment" = "test"
          "loadstone.service"    = "geo"
        }
      }

      env = {
        STONE_LISTEN         = "0.0.0.0:8083"
        STONE_ADMIN          = "0.0.0.0:9083"
        STONE_PROFILE        = ""
        STONE_LOG_LEVEL      = "info"
        STONE_STORE_PASSWORD = "{store_password}"
        STONE_TRACES         = "198.18.0.5:4317"
        STONE_TRACES_SAMPLE  = "1"
      }

      template {
        destination = "local/stores.env"
        change_mode = "restart"
        env         = true

        data = <<EOT
STONE_NEED_MEMCACHED_GEO={{ range $i, $one := service "test-memcached-geo" }}{{ if $i }},{{ end }}{{ .Address }}:{{ .Port }}{{ end }}
STONE_DOCUMENTS={{ with service "test-documents-geo" }}{{ with index . 0 }}postgres://postgres@{{ .Address }}:{{ .Port }}/postgres?sslmode=disable{{ end }}{{ end }}
EOT
      }

      resources {
        cpu    = 250
        memory = 10
      }
    }
  }
}
