package documents

// Location says where documents are kept: in which service's store, under which names.
type Location struct{ Service, Database, Collection string }

// In is the collection at this location of the store.
func (l Location) In(store Store) Collection { return store.Collection(l.Database, l.Collection) }
