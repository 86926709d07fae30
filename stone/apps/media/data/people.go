package data

import (
	"fmt"
	"math/rand/v2"
)

// Person generates an actor by number, from 1 to People, each with a name that no other has.
func Person(number int) CastInfo {
	id := int64(number)
	draw := rand.New(rand.NewPCG(uint64(number), 1895))
	given := women
	if isMan(id) {
		given = men
	}
	// Of those with the same given name, ten at most, each has another family name.
	of := number / 2
	name := given[of%len(given)] + " " + families[(of*7+of/len(given))%len(families)]
	return CastInfo{CastInfoID: id, Name: name, Gender: isMan(id), Intro: intro(draw, name)}
}

func isMan(id int64) bool { return id%2 == 0 }

var ways = []string{
	"the puppet theatre", "a travelling circus", "radio plays", "a school of dance", "the opera chorus",
	"street theatre", "a film club", "stunt driving", "a summer job as an usher", "dubbing cartoons",
}

func intro(draw *rand.Rand, name string) string {
	return fmt.Sprintf("%s was born in %s, was %s for %d years and came to film by way of %s.",
		name, pick(draw, places), withArticle(pick(draw, trades)), 2+draw.IntN(20), pick(draw, ways))
}
