# mongodb-geo of hotel: 1 replica, scaling baseline
job "hotel-mongodb-geo" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "hotel"
    "loadstone.service"    = "mongodb-geo"
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

  group "mongodb-geo" {
    count = 1

    # Always and where it was; elsewhere only if its node is lost.
    restart {
      attempts = 10
      interval = "1m"
      delay    = "1s"
      mode     = "delay"
    }

    network {
      port "port_27017" {
        static = 27017
        to     = 27017
      }
    }

    service {
      name     = "hotel-mongodb-geo"
      provider = "consul"
      port     = "port_27017"
      tags     = ["loadstone.deployment=hotel"]

      check {
        type                     = "tcp"
        port                     = "port_27017"
        interval                 = "2s"
        timeout                  = "5s"
        failures_before_critical = 10
      }
    }

    task "mongodb-geo" {
      driver = "docker"

      config {
        image             = "mongo:5.0"
        ports             = ["port_27017"]
        cpu_hard_limit    = false
        memory_hard_limit = 8796093022207

        labels = {
          "loadstone.deployment" = "hotel"
          "loadstone.service"    = "mongodb-geo"
        }
      }

      resources {
        cpu    = 2
        memory = 10
      }
    }
  }
}
