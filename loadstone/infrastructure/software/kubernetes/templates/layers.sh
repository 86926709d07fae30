# The kubelet and the plugins of networks write below /var/lib and /var/log. From now on, as daemons see it, that goes to
# layers in memory, which end with the mount namespace; /var/lib/kubelet, which holds volumes, is a folder of the member
# (in which the path of a socket would be too long). Arguments: that folder, and others that stay as they are.
set -e
kubelet=$1
shift
here=/run/.host/layers
number=0
for folder in "$@"; do
  number=$((number + 1))
  mkdir -p $here/kept-$number
  mount --bind "$folder" $here/kept-$number
done
for place in lib log; do
  mkdir -p $here/$place $here/$place.work
  mount -t overlay -o lowerdir=/var/$place,upperdir=$here/$place,workdir=$here/$place.work overlay /var/$place
done
mkdir -p /var/lib/cni /var/lib/kubelet
mount -t tmpfs -o mode=755 tmpfs /var/lib/cni # that of another cluster's node on this machine stays out of sight
number=0
for folder in "$@"; do
  number=$((number + 1))
  mkdir -p "$folder"
  mount --bind $here/kept-$number "$folder"
done
mkdir -p "$kubelet"
mount --bind "$kubelet" /var/lib/kubelet
