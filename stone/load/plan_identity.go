package load

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"

	"loadstone.dev/stone/load/result"
	"loadstone.dev/stone/load/schedule"
)

// Identity reads the plan's files and measures its whole schedule.
func (p *Plan) Identity() (result.Identity, error) {
	s, err := p.schedule()
	if err != nil {
		return result.Identity{}, err
	}
	one := *p
	one.Part = &result.Part{Number: 0, Of: 1}
	return one.identity(s)
}

// identity does so only if other workers have to agree.
func (p *Plan) identity(s schedule.Schedule) (result.Identity, error) {
	id := result.Identity{Plan: p.given, Files: map[string]string{}}
	if p.Part == nil {
		return id, nil
	}
	for _, path := range p.contents() {
		digest, err := digestFile(path)
		if err != nil {
			return id, err
		}
		id.Files[p.original(path)] = digest
	}
	if p.Closed != nil {
		return id, nil
	}
	id.Arrivals = s.Span()
	return id, nil
}

func digestFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	digest := sha256.New()
	if _, err := io.Copy(digest, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(digest.Sum(nil)), nil
}
