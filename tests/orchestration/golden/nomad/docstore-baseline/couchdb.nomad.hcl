# couchdb of docstore: 1 replica, scaling baseline
job "docstore-couchdb" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "docstore"
    "loadstone.service"    = "couchdb"
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

  group "couchdb" {
    count = 1

    # Always and where it was; elsewhere only if its node is lost.
    restart {
      attempts = 10
      interval = "1m"
      delay    = "1s"
      mode     = "delay"
    }

    network {
      port "couchdb" {
        static = 5984
        to     = 5984
      }
    }

    service {
      name     = "docstore-couchdb"
      provider = "consul"
      port     = "couchdb"
      tags     = ["loadstone.deployment=docstore"]

      check {
        type                     = "tcp"
        port                     = "couchdb"
        interval                 = "2s"
        timeout                  = "5s"
        failures_before_critical = 10
      }
    }

    task "couchdb" {
      driver = "docker"

      config {
        image = "loadstone/couchdb:0.1.0"
        args = [
          "/bin/sh", "-c",
          "printf '[couchdb]\\nsingle_node = true\\n[log]\\nlevel = warning\\n' > /opt/couchdb/etc/local.d/single-node.ini\nexec /docker-entrypoint.sh /opt/couchdb/bin/couchdb\n",
        ]
        ports             = ["couchdb"]
        cpu_hard_limit    = true
        memory_hard_limit = 512

        labels = {
          "loadstone.deployment" = "docstore"
          "loadstone.service"    = "couchdb"
        }
      }

      env = {
        COUCHDB_USER     = "admin"
        COUCHDB_PASSWORD = "{store_password}"
      }

      resources {
        cpu    = 1000
        memory = 10
      }
    }
  }
}
