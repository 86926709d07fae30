package node

import (
	"bytes"
	"os"
	"strconv"
)

// scoreFile adjusts which process the kernel kills when memory runs out (proc(5), oom_score_adj). A child inherits it.
const scoreFile = "/proc/self/oom_score_adj"

// protectedScore makes a node the last choice. The least, -1000, would exempt it even from the limit of its own control
// group.
const protectedScore = -900

// protection keeps a machine's node alive when its memory runs out, to tell which process the kernel has killed. A node
// is larger than most replicas and would be chosen first.
type protection struct {
	file   string
	before []byte // the score of those that the node starts; empty where there is no protection
}

// protect lowers the score in the file, a process's own. That needs CAP_SYS_RESOURCE: without it nothing changes.
func protect(file string) protection {
	before, err := os.ReadFile(file)
	if err != nil {
		return protection{}
	}
	score, err := strconv.Atoi(string(bytes.TrimSpace(before)))
	if err != nil || score <= protectedScore {
		return protection{}
	}
	p := protection{file, before}
	if !p.set() {
		return protection{}
	}
	return p
}

func (p protection) set() bool { return p.write(strconv.AppendInt(nil, protectedScore, 10)) }

// lift gives the process its former score, for a moment in which a child is started.
func (p protection) lift() { p.write(p.before) }

func (p protection) write(score []byte) bool {
	return len(p.before) > 0 && os.WriteFile(p.file, score, 0) == nil
}
