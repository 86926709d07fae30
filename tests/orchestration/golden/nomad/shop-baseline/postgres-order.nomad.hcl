# postgres-order of shop: 1 replica, scaling baseline
job "shop-postgres-order" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "shop"
    "loadstone.service"    = "postgres-order"
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

  group "postgres-order" {
    count = 1

    # Always and where it was; elsewhere only if its node is lost.
    restart {
      attempts = 10
      interval = "1m"
      delay    = "1s"
      mode     = "delay"
    }

    network {
      port "postgres" {
        to = 5432
      }
    }

    service {
      name     = "shop-postgres-order"
      provider = "consul"
      port     = "postgres"
      tags     = ["loadstone.deployment=shop"]

      check {
        type                     = "tcp"
        port                     = "postgres"
        interval                 = "2s"
        timeout                  = "5s"
        failures_before_critical = 10
      }
    }

    task "postgres-order" {
      driver = "docker"

      config {
        image = "loadstone/postgres:0.1.0"
        args = [
          "/bin/sh", "-c",
          "entrypoint=$(command -v docker-entrypoint.sh) || echo \"ALTER ROLE postgres PASSWORD '$POSTGRES_PASSWORD'\" | postgres --single -D $PGDATA -c fsync=off postgres >/dev/null; exec $entrypoint postgres \"$@\"",
          "sh", "-c", "shared_buffers=16MB", "-c", "max_connections=100", "-c", "fsync=off", "-c",
          "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "min_wal_size=8MB", "-c",
          "max_wal_size=1GB", "-c", "checkpoint_timeout=1h", "-c", "wal_level=minimal", "-c",
          "max_wal_senders=0", "-c", "max_logical_replication_workers=0", "-c", "max_worker_processes=0", "-c",
          "max_parallel_workers_per_gather=0", "-c", "jit=off", "-c", "autovacuum=off",
        ]
        ports             = ["postgres"]
        cpu_hard_limit    = true
        memory_hard_limit = 512

        labels = {
          "loadstone.deployment" = "shop"
          "loadstone.service"    = "postgres-order"
        }
      }

      env = {
        PGDATA               = "/var/lib/postgresql/data"
        POSTGRES_PASSWORD    = "{store_password}"
        POSTGRES_INITDB_ARGS = "-E UTF8 --locale=C --wal-segsize=4"
      }

      resources {
        cpu    = 1000
        memory = 10
      }
    }
  }
}
