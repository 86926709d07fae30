# jaeger of hotel: 1 replica, scaling baseline
job "hotel-jaeger" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "hotel"
    "loadstone.service"    = "jaeger"
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

  group "jaeger" {
    count = 1

    # Always and where it was; elsewhere only if its node is lost.
    restart {
      attempts = 10
      interval = "1m"
      delay    = "1s"
      mode     = "delay"
    }

    network {
      port "port_14269" {
        static = 14269
        to     = 14269
      }
      port "port_5778" {
        static = 5778
        to     = 5778
      }
      port "port_14268" {
        static = 14268
        to     = 14268
      }
      port "port_16686" {
        static = 16686
        to     = 16686
      }
    }

    service {
      name     = "hotel-jaeger"
      provider = "consul"
      port     = "port_14269"
      tags     = ["loadstone.deployment=hotel"]

      check {
        type                     = "tcp"
        port                     = "port_14269"
        interval                 = "2s"
        timeout                  = "5s"
        failures_before_critical = 10
      }
    }

    task "jaeger" {
      driver = "docker"

      config {
        image             = "jaegertracing/all-in-one:1.57"
        ports             = ["port_14269", "port_5778", "port_14268", "port_16686"]
        cpu_hard_limit    = false
        memory_hard_limit = 8796093022207

        labels = {
          "loadstone.deployment" = "hotel"
          "loadstone.service"    = "jaeger"
        }
      }

      resources {
        cpu    = 2
        memory = 10
      }
    }
  }
}
