package data

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Films and people are generated, the same ones every time: what the published application takes from a film database.
const (
	People    = 1000 // in the pool of actors
	mostFilms = 4000 // pairs of adjective and noun, of which each film has one
	mostCasts = 10
)

// Film is all that the stores hold about one film. Its plot has the film's number as id.
type Film struct {
	Info MovieInfo
	Plot Plot
}

// FilmAt generates a film by its number, from 1 to 4,000. Films of other numbers have other titles.
func FilmAt(number int) Film {
	draw := rand.New(rand.NewPCG(uint64(number), 2026))
	words := wordsOf(number)
	film := Film{Info: MovieInfo{
		MovieID: strconv.Itoa(number), Title: title(number, words), PlotID: int64(number),
		ThumbnailIds: []string{fmt.Sprintf("thumbnail-%d", number)},
		PhotoIds:     []string{fmt.Sprintf("photo-%d-1", number), fmt.Sprintf("photo-%d-2", number)},
		VideoIds:     []string{fmt.Sprintf("trailer-%d", number)},
		AvgRating:    float64(30+draw.IntN(61)) / 10, NumRating: int32(20 + draw.IntN(2000)),
	}}
	film.Info.Casts = casts(draw)
	film.Plot = Plot{PlotID: film.Info.PlotID, Plot: plot(draw, film.Info.Casts, words)}
	return film
}

// keyWords are what a film is about.
type keyWords struct{ adjective, noun, place string }

// wordsOf spreads the films over the words: the factor has no divisor in common with the number of pairs, so that each
// pair comes once.
func wordsOf(number int) keyWords {
	pair := number * 1237 % mostFilms
	return keyWords{adjectives[pair%len(adjectives)], nouns[pair/len(adjectives)], places[number*7%len(places)]}
}

func title(number int, about keyWords) string {
	switch number % 3 {
	case 0:
		return fmt.Sprintf("The %s %s of %s", about.adjective, about.noun, about.place)
	case 1:
		return fmt.Sprintf("%s %s of %s", about.adjective, about.noun, about.place)
	}
	return fmt.Sprintf("%s and the %s %s", about.place, about.adjective, about.noun)
}

// casts has no actor twice.
func casts(draw *rand.Rand) []*Cast {
	list := make([]*Cast, 4+draw.IntN(mostCasts-3))
	for i := range list {
		actor := int64(1 + draw.IntN(People))
		for slices.ContainsFunc(list[:i], func(other *Cast) bool { return other.CastInfoID == actor }) {
			actor = actor%People + 1
		}
		given := women
		if isMan(actor) {
			given = men
		}
		character := pick(draw, given) + " " + pick(draw, families)
		list[i] = &Cast{CastID: int32(i + 1), Character: character, CastInfoID: actor}
	}
	return list
}

var (
	beginnings = []string{
		"When {a thing} vanishes from {place} overnight, {hero}, {a trade}, is the only one who saw it go.",
		"{hero}, {a trade} from {place}, inherits {a thing} and the quarrel that comes with it.",
		"For eleven years no one in {place} has spoken of the {thing}; then {hero} comes home.",
		"{hero} has one winter to return {a thing} to the people of {place}.",
		"A letter without a sender brings {hero}, {a trade}, to {place} and its {thing}.",
		"In {place}, where every door is locked at dusk, {hero} finds {a thing} on the stairs.",
	}
	middles = []string{
		"Only {friend}, {another trade} with debts of every kind, believes the story.",
		"{friend}, {another trade}, offers help, and the price of it goes up each day.",
		"What begins as a wager with {friend} ends in front of the whole town.",
		"The trail leads to {friend}, who was thought to have drowned.",
		"An old promise to {friend}, {another trade}, turns out to have been kept after all.",
		"With {friend}, who talks in riddles and drives too fast, there is no turning back.",
	}
	endings = []string{
		"Before the first snow both must choose what they can live without.",
		"By the time the ferry leaves, one of them has spoken the truth.",
		"It takes a flood, a wedding and a very stubborn goat to settle the matter.",
		"The answer was on the wall all the time, for those who could read it.",
		"One of them has to stay behind, and neither wants to choose.",
		"In the end the smallest lie is the one that counts.",
	}
)

func plot(draw *rand.Rand, casts []*Cast, about keyWords) string {
	thing := strings.ToLower(about.adjective + " " + about.noun)
	text := strings.Join([]string{pick(draw, beginnings), pick(draw, middles), pick(draw, endings)}, " ")
	plot := strings.NewReplacer(
		"{hero}", casts[0].Character, "{friend}", casts[1].Character, "{place}", about.place, "{thing}", thing,
		"{a thing}", withArticle(thing), "{a trade}", withArticle(pick(draw, trades)),
		"{another trade}", withArticle(pick(draw, trades)),
	).Replace(text)
	return plot
}

func withArticle(what string) string {
	if strings.ContainsRune("aeiou", rune(what[0])) {
		return "an " + what
	}
	return "a " + what
}

func pick(draw *rand.Rand, from []string) string { return from[draw.IntN(len(from))] }
