#!/bin/sh
# Fetches the jars of the stand-in for MongoDB into the user's cache, once, and prints their folder.
# Start it with: java -cp "$folder/*" MongoStandIn.java PORT
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/loadstone
folder=$cache/mongo-java-server-1.46
if [ ! -d "$folder" ]; then
    mkdir -p "$cache"
    part=$(mktemp -d "$cache/mongo-java-server.XXXXXX")
    trap 'rm -rf "$part"' EXIT
    mvn -q -B -f "$here/pom.xml" dependency:copy-dependencies -DoutputDirectory="$part" >&2
    mv -T "$part" "$folder" 2>/dev/null || [ -d "$folder" ] # another run may have been first
fi
echo "$folder"
