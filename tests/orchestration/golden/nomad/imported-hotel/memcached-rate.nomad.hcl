# memcached-rate of hotel: 1 replica, scaling baseline
job "hotel-memcached-rate" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "hotel"
    "loadstone.service"    = "memcached-rate"
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

  group "memcached-rate" {
    count = 1

    # Always and where it was; elsewhere only if its node is lost.
    restart {
      attempts = 10
      interval = "1m"
      delay    = "1s"
      mode     = "delay"
    }

    network {
      port "port_11211" {
        static = 11211
        to     = 11211
      }
    }

    service {
      name     = "hotel-memcached-rate"
      provider = "consul"
      port     = "port_11211"
      tags     = ["loadstone.deployment=hotel"]

      check {
        type                     = "tcp"
        port                     = "port_11211"
        interval                 = "2s"
        timeout                  = "5s"
        failures_before_critical = 10
      }
    }

    task "memcached-rate" {
      driver = "docker"

      config {
        image             = "memcached:latest"
        args              = ["memcached", "-m", "128", "-t", "2"]
        ports             = ["port_11211"]
        cpu_hard_limit    = true
        memory_hard_limit = 192

        labels = {
          "loadstone.deployment" = "hotel"
          "loadstone.service"    = "memcached-rate"
        }
      }

      env = {
        MEMCACHED_CACHE_SIZE = "128"
        MEMCACHED_THREADS    = "2"
      }

      resources {
        cpu    = 500
        memory = 10
      }
    }
  }
}
