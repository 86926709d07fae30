# jaeger of services: 1 replica, scaling horizontal
job "test-jaeger" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "test"
    "loadstone.service"    = "jaeger"
  }

  constraint {
    attribute = "${node.unique.name}"
    operator  = "set_contains_any"
    value     = "worker-3"
  }

  spread {
    attribute = "${node.unique.name}"
  }

  # All at once: a job that is still being rolled out could not be scaled.
  update {
    max_parallel = 0
  }

  group "jaeger" {
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
        static = 16686
        to     = 16686
      }
      port "otlp" {
        static = 4317
        to     = 4317
      }
    }

    service {
      name     = "test-jaeger"
      provider = "consul"
      port     = "http"
      tags     = ["loadstone.deployment=test"]

      check {
        type                     = "http"
        path                     = "/api/services"
        port                     = "http"
        interval                 = "2s"
        timeout                  = "5s"
        failures_before_critical = 10
      }
    }

    task "jaeger" {
      driver = "docker"

      config {
        image = "loadstone/jaeger:0.1.0"
        args = [
          "--memory.max-traces=50000", "--query.http-server.host-port=:16686",
          "--collector.otlp.grpc.host-port=:4317",
        ]
        ports             = ["http", "otlp"]
        cpu_hard_limit    = false
        memory_hard_limit = 8796093022207

        labels = {
          "loadstone.deployment" = "test"
          "loadstone.service"    = "jaeger"
        }
      }

      env = {
        OTEL_TRACES_SAMPLER = "always_off"
      }

      resources {
        cpu    = 2
        memory = 10
      }
    }
  }
}
