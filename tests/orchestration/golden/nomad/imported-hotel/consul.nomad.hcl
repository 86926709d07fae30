# consul of hotel: 1 replica, scaling baseline
job "hotel-consul" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "hotel"
    "loadstone.service"    = "consul"
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

  group "consul" {
    count = 1

    # Always and where it was; elsewhere only if its node is lost.
    restart {
      attempts = 10
      interval = "1m"
      delay    = "1s"
      mode     = "delay"
    }

    network {
      port "port_8300" {
        static = 8300
        to     = 8300
      }
      port "port_8400" {
        static = 8400
        to     = 8400
      }
      port "port_8500" {
        static = 8500
        to     = 8500
      }
    }

    service {
      name     = "hotel-consul"
      provider = "consul"
      port     = "port_8300"
      tags     = ["loadstone.deployment=hotel"]

      check {
        type                     = "http"
        path                     = "/v1/status/leader"
        port                     = "port_8500"
        interval                 = "2s"
        timeout                  = "5s"
        failures_before_critical = 10
      }
    }

    task "consul" {
      driver = "docker"

      config {
        image             = "hashicorp/consul:latest"
        ports             = ["port_8300", "port_8400", "port_8500"]
        cpu_hard_limit    = false
        memory_hard_limit = 8796093022207

        labels = {
          "loadstone.deployment" = "hotel"
          "loadstone.service"    = "consul"
        }
      }

      resources {
        cpu    = 2
        memory = 10
      }
    }
  }
}
