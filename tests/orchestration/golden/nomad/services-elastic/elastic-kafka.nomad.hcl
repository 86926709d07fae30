# elastic-kafka of services: 1 replica, scaling baseline
job "test-elastic-kafka" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "test"
    "loadstone.service"    = "elastic-kafka"
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

  group "elastic-kafka" {
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
        static = 9092
        to     = 9092
      }
    }

    service {
      name     = "test-elastic-kafka"
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

    task "elastic-kafka" {
      driver = "docker"

      config {
        image             = "apache/kafka:3.7.2"
        ports             = ["http"]
        cpu_hard_limit    = false
        memory_hard_limit = 8796093022207

        labels = {
          "loadstone.deployment" = "test"
          "loadstone.service"    = "elastic-kafka"
        }
      }

      env = {
        KAFKA_NODE_ID                                  = "1"
        KAFKA_PROCESS_ROLES                            = "broker,controller"
        KAFKA_LISTENERS                                = "PLAINTEXT://:9092,CONTROLLER://127.0.0.1:9093"
        KAFKA_ADVERTISED_LISTENERS                     = "PLAINTEXT://198.18.0.5:9092"
        KAFKA_LISTENER_SECURITY_PROTOCOL_MAP           = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"
        KAFKA_CONTROLLER_LISTENER_NAMES                = "CONTROLLER"
        KAFKA_CONTROLLER_QUORUM_VOTERS                 = "1@127.0.0.1:9093"
        KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR         = "1"
        KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR = "1"
        KAFKA_TRANSACTION_STATE_LOG_MIN_ISR            = "1"
      }

      resources {
        cpu    = 2
        memory = 10
      }
    }
  }
}
