package node

import (
	"bytes"
	"os"
	"strconv"
)

// scoreFile adjusts which process the kernel kills when memory runs out (proc(5), oom_score_adj). A child inherits it.
const scoreFile = "/proc/self/oom_score_adj"

// protectedScore is for what a system cannot do without, such as sshd's -1000, which would exempt a node even where
// it has a limit of its own.
const protectedScore = -900

// protection keeps a machine's node alive when its memory runs out, to tell which process the kernel has killed. A node
// is larger than most replicas and would be chosen first.
type protection struct {
	before []byte // the score of those that the node starts; empty where there is no protection
}

// protect this process. That needs CAP_SYS_RESOURCE: without it the node runs as it is.
func protect() protection {
	before, err := os.ReadFile(scoreFile)
	if err != nil {
		return protection{}
	}
	score, err := strconv.Atoi(string(bytes.TrimSpace(before)))
	if err != nil || score <= protectedScore {
		return protection{}
	}
	p := protection{before}
	if !p.set() {
		return protection{}
	}
	return p
}

func (p protection) set() bool { return p.write(strconv.AppendInt(nil, protectedScore, 10)) }

// lift gives the process its former score, for a moment in which a child is started.
func (p protection) lift() { p.write(p.before) }

func (p protection) write(score []byte) bool {
	return len(p.before) > 0 && os.WriteFile(scoreFile, score, 0) == nil
}
