# prometheus of services: 1 replica, scaling horizontal
job "test-prometheus" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "test"
    "loadstone.service"    = "prometheus"
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

  group "prometheus" {
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
        static = 9090
        to     = 9090
      }
    }

    service {
      name     = "test-prometheus"
      provider = "consul"
      port     = "http"
      tags     = ["loadstone.deployment=test"]

      check {
        type                     = "http"
        path                     = "/-/ready"
        port                     = "http"
        interval                 = "2s"
        timeout                  = "5s"
        failures_before_critical = 10
      }
    }

    task "prometheus" {
      driver = "docker"

      config {
        image             = "loadstone/prometheus:0.1.0"
        args              = ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"]
        ports             = ["http"]
        cpu_hard_limit    = false
        memory_hard_limit = 8796093022207

        labels = {
          "loadstone.deployment" = "test"
          "loadstone.service"    = "prometheus"
        }

        mount {
          type     = "bind"
          source   = "local/configs/7c8d13-prometheus.yml"
          target   = "/etc/prometheus/prometheus.yml"
          readonly = true
        }
      }

      template {
        destination = "local/configs/7c8d13-prometheus.yml"
        change_mode = "noop"

        left_delimiter  = "<0<"
        right_delimiter = ">0>"

        data = <<EOT
global:
  scrape_interval: 2s
  scrape_timeout: 2s
scrape_configs:
- job_name: prometheus
  static_configs:
  - targets: ['198.18.0.5:9090']
- job_name: load
  static_configs:
  - targets: ['198.18.0.1:9621']
EOT
      }

      resources {
        cpu    = 2
        memory = 10
      }
    }
  }
}
