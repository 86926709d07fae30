# memcached-profile of hotel-reservation: 1 replica, scaling baseline
job "test-memcached-profile" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "test"
    "loadstone.service"    = "memcached-profile"
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

  group "memcached-profile" {
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
      name     = "test-memcached-profile"
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

    task "memcached-profile" {
      driver = "docker"

      config {
        image             = "loadstone/memcached:0.1.0"
        args              = ["memcached", "-t", "2", "-m", "64", "-c", "4096"]
        ports             = ["memcached"]
        cpu_hard_limit    = true
        memory_hard_limit = 256

        labels = {
          "loadstone.deployment" = "test"
          "loadstone.service"    = "memcached-profile"
        }
      }

      resources {
        cpu    = 1000
        memory = 10
      }
    }
  }
}
