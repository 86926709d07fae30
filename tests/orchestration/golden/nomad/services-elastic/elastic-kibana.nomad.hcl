# elastic-kibana of services: 1 replica, scaling baseline
job "test-elastic-kibana" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "test"
    "loadstone.service"    = "elastic-kibana"
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

  group "elastic-kibana" {
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
        static = 5601
        to     = 5601
      }
    }

    service {
      name     = "test-elastic-kibana"
      provider = "consul"
      port     = "http"
      tags     = ["loadstone.deployment=test"]

      check {
        type                     = "http"
        path                     = "/api/status"
        port                     = "http"
        interval                 = "2s"
        timeout                  = "5s"
        failures_before_critical = 10
      }
    }

    task "elastic-kibana" {
      driver = "docker"

      config {
        image             = "kibana:7.17.24"
        ports             = ["http"]
        cpu_hard_limit    = false
        memory_hard_limit = 8796093022207

        labels = {
          "loadstone.deployment" = "test"
          "loadstone.service"    = "elastic-kibana"
        }
      }

      env = {
        ELASTICSEARCH_HOSTS = "http://198.18.0.5:9200"
        SERVER_HOST         = "0.0.0.0"
      }

      resources {
        cpu    = 2
        memory = 10
      }
    }
  }
}
