# queue of docstore: 1 replica, scaling baseline
job "docstore-queue" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "docstore"
    "loadstone.service"    = "queue"
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

  group "queue" {
    count = 1

    # Always and where it was; elsewhere only if its node is lost.
    restart {
      attempts = 10
      interval = "1m"
      delay    = "1s"
      mode     = "delay"
    }

    network {
      port "zmq" {
        static = 5556
        to     = 5556
      }
      port "admin" {
        to = 9556
      }
    }

    service {
      name     = "docstore-queue"
      provider = "consul"
      port     = "zmq"
      tags     = ["loadstone.deployment=docstore"]

      check {
        type                     = "http"
        path                     = "/readyz"
        port                     = "admin"
        interval                 = "2s"
        timeout                  = "5s"
        failures_before_critical = 10
      }
    }

    task "queue" {
      driver = "docker"

      config {
        image             = "loadstone/stone:0.1.0"
        args              = ["serve", "docstore/queue"]
        ports             = ["zmq", "admin"]
        cpu_hard_limit    = true
        memory_hard_limit = 256

        labels = {
          "loadstone.deployment" = "docstore"
          "loadstone.service"    = "queue"
        }
      }

      env = {
        STONE_LISTEN         = "0.0.0.0:5556"
        STONE_ADMIN          = "0.0.0.0:9556"
        STONE_PROFILE        = ""
        STONE_LOG_LEVEL      = "info"
        STONE_STORE_PASSWORD = "{store_password}"
        STONE_TASK_SOCKET    = "rep"
      }

      template {
        destination = "local/stores.env"
        change_mode = "restart"
        env         = true

        data = <<EOT
STONE_NEED_COUCHDB={{ range $i, $one := service "docstore-couchdb" }}{{ if $i }},{{ end }}{{ .Address }}:{{ .Port }}{{ end }}
EOT
      }

      resources {
        cpu    = 1000
        memory = 10
      }
    }
  }
}
