# elastic-collector of services: 1 replica, scaling baseline
job "test-elastic-collector" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "test"
    "loadstone.service"    = "elastic-collector"
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

  group "elastic-collector" {
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
        static = 14269
        to     = 14269
      }
      port "otlp" {
        static = 4317
        to     = 4317
      }
    }

    service {
      name     = "test-elastic-collector"
      provider = "consul"
      port     = "http"
      tags     = ["loadstone.deployment=test"]

      check {
        type                     = "http"
        path                     = "/"
        port                     = "http"
        interval                 = "2s"
        timeout                  = "5s"
        failures_before_critical = 10
      }
    }

    task "elastic-collector" {
      driver = "docker"

      config {
        image             = "jaegertracing/jaeger-collector:1.62.0"
        ports             = ["http", "otlp"]
        cpu_hard_limit    = false
        memory_hard_limit = 8796093022207

        labels = {
          "loadstone.deployment" = "test"
          "loadstone.service"    = "elastic-collector"
        }
      }

      env = {
        SPAN_STORAGE_TYPE             = "kafka"
        KAFKA_PRODUCER_BROKERS        = "198.18.0.5:9092"
        KAFKA_PRODUCER_TOPIC          = "jaeger-spans"
        COLLECTOR_OTLP_GRPC_HOST_PORT = ":4317"
      }

      resources {
        cpu    = 2
        memory = 10
      }
    }
  }
}
