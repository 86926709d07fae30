package load

import (
	"cmp"
	"maps"
	"slices"

	"loadstone.dev/stone/load/request"
)

// Files are the paths of all files that the plan names.
func (p *Plan) Files() []string {
	found := map[string]bool{}
	p.eachPath(func(path string) string {
		found[path] = true
		return path
	})
	return slices.Sorted(maps.Keys(found))
}

// contents are the files that decide what is sent; trusted certificates may differ between hosts.
func (p *Plan) contents() []string {
	return slices.DeleteFunc(p.Files(), func(path string) bool { return p.TLS != nil && path == p.TLS.CA })
}

// readCopies has the plan read copies of its files.
func (p *Plan) readCopies(copies map[string]string) {
	p.originals = map[string]string{}
	p.eachPath(func(path string) string {
		if stored, found := copies[path]; found {
			p.originals[stored] = path
			return stored
		}
		return path
	})
}

// original is the path that the plan's text has for a file.
func (p *Plan) original(path string) string { return cmp.Or(p.originals[path], path) }

// eachPath replaces the path of every file that the plan names by what `visit` makes of it. It writes only what differs:
// several goroutines may look at one plan.
func (p *Plan) eachPath(visit func(path string) string) {
	replace := func(path *string) bool {
		if *path == "" {
			return false
		}
		after := visit(*path)
		if after == *path {
			return false
		}
		*path = after
		return true
	}
	replace(&p.Arrival.File)
	replace(&p.Descriptors)
	if p.TLS != nil {
		replace(&p.TLS.CA)
	}
	if p.Script != nil {
		replace(&p.Script.Path)
	}
	for _, o := range p.Operations {
		for _, request := range append([]request.Step{{Request: o.Request}}, o.Steps...) {
			for name, field := range request.Fields {
				if replace(&field.Path) {
					request.Fields[name] = field
				}
			}
		}
	}
}
