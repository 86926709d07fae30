# memcached-geo of services: 1 replica, scaling baseline
job "test-memcached-geo" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "test"
    "loadstone.service"    = "memcached-geo"
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

  group "memcached-geo" {
    count = 1

    # Always and where it was; elsewhere only if its node is lost.
    restart {
      attempts = 10
      interval = "1m"
      delay    = "1s"
      mode     = "delay"
    }

    network {
      port "memcached" {
        to = 11211
      }
    }

    service {
      name     = "test-memcached-geo"
      provider = "consul"
      port     = "memcached"
      tags     = ["loadstone.deployment=test"]

      check {
        type                     = "tcp"
        port                     = "memcached"
        interval                 = "2s"
        timeout                  = "5s"
        failures_before_critical = 10
      }
    }

    task "memcached-geo" {
      driver = "docker"

      config {
        image             = "loadstone/memcached:0.1.0"
        args              = ["memcached", "-t", "2", "-m", "64", "-c", "4096"]
        ports             = ["memcached"]
        cpu_hard_limit    = false
        memory_hard_limit = 8796093022207

        labels = {
          "loadstone.deployment" = "test"
          "loadstone.service"    = "memcached-geo"
        }
      }

      resources {
        cpu    = 2
        memory = 10
      }
    }
  }
}
