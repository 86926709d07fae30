# elastic-ingester of services: 1 replica, scaling baseline
job "test-elastic-ingester" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "test"
    "loadstone.service"    = "elastic-ingester"
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

  group "elastic-ingester" {
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
        static = 14270
        to     = 14270
      }
    }

    service {
      name     = "test-elastic-ingester"
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

    task "elastic-ingester" {
      driver = "docker"

      config {
        image             = "jaegertracing/jaeger-ingester:1.62.0"
        ports             = ["http"]
        cpu_hard_limit    = false
        memory_hard_limit = 8796093022207

        labels = {
          "loadstone.deployment" = "test"
          "loadstone.service"    = "elastic-ingester"
        }
      }

      env = {
        SPAN_STORAGE_TYPE      = "elasticsearch"
        ES_SERVER_URLS         = "http://198.18.0.5:9200"
        KAFKA_CONSUMER_BROKERS = "198.18.0.5:9092"
        KAFKA_CONSUMER_TOPIC   = "jaeger-spans"
      }

      resources {
        cpu    = 2
        memory = 10
      }
    }
  }
}
