# elastic-search of services: 1 replica, scaling baseline
job "test-elastic-search" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "test"
    "loadstone.service"    = "elastic-search"
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

  group "elastic-search" {
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
        static = 9200
        to     = 9200
      }
    }

    service {
      name     = "test-elastic-search"
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

    task "elastic-search" {
      driver = "docker"

      config {
        image             = "elasticsearch:7.17.24"
        ports             = ["http"]
        cpu_hard_limit    = false
        memory_hard_limit = 8796093022207

        labels = {
          "loadstone.deployment" = "test"
          "loadstone.service"    = "elastic-search"
        }
      }

      env = {
        "discovery.type"         = "single-node"
        "node.store.allow_mmap"  = "false"
        "xpack.security.enabled" = "false"
        ES_JAVA_OPTS             = "-Xms512m -Xmx512m"
      }

      resources {
        cpu    = 2
        memory = 10
      }
    }
  }
}
