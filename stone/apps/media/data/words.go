package data

// The words that films and people are made of. Places and family names are invented, so that no title is a real one.
var (
	adjectives = []string{
		"Amber", "Ashen", "Backward", "Borrowed", "Brass", "Broken", "Candlelit", "Careful", "Clockwork", "Copper",
		"Crooked", "Distant", "Drowsy", "Eleventh", "Empty", "Faded", "Feathered", "Folded", "Forgotten", "Frozen",
		"Gentle", "Gilded", "Hidden", "Hollow", "Indigo", "Ivory", "Jagged", "Kindly", "Lacquered", "Late",
		"Marble", "Mended", "Narrow", "Nameless", "Obedient", "Painted", "Patient", "Quiet", "Rusted", "Salted",
		"Scarlet", "Seventh", "Silver", "Sleepless", "Tilted", "Unfinished", "Velvet", "Wandering", "Winter", "Wooden",
	}
	nouns = []string{
		"Accordion", "Almanac", "Anchor", "Atlas", "Ballroom", "Barge", "Beacon", "Bellringer", "Bridge", "Cabinet",
		"Caravan", "Carousel", "Cartographer", "Cellar", "Chessboard", "Choir", "Clock", "Compass", "Conductor", "Corridor",
		"Courier", "Crossing", "Dictionary", "Dovecote", "Elevator", "Embassy", "Envelope", "Ferry", "Fiddler", "Fountain",
		"Gardener", "Glassblower", "Greenhouse", "Harbour", "Harvest", "Hourglass", "Inkwell", "Island", "Kettle", "Keyhole",
		"Lantern", "Ledger", "Library", "Lighthouse", "Locksmith", "Magpie", "Mapmaker", "Meadow", "Mirror", "Museum",
		"Notebook", "Observatory", "Orchard", "Orchestra", "Parade", "Passenger", "Pavilion", "Pendulum", "Pilot", "Postcard",
		"Quarry", "Quilt", "Railway", "Recipe", "River", "Sail", "Schoolhouse", "Signal", "Staircase", "Station",
		"Suitcase", "Teahouse", "Telegram", "Theatre", "Tower", "Umbrella", "Violin", "Watchmaker", "Weathervane", "Windmill",
	}
	places = []string{
		"Aldermoss", "Brindlewick", "Caldreth", "Dunmarrow", "Eskervale", "Fennimarsh", "Gallowby", "Halvorre",
		"Inverlisk", "Jorvenna", "Kestrin", "Lorrimere", "Merrowdale", "Nettlefen", "Ostrane", "Pellamy",
		"Quillby", "Rookhaven", "Solvane", "Tarnhollow", "Umberleigh", "Vellmar", "Wexcombe", "Yarrowmouth", "Zelmira",
	}
	trades = []string{
		"baker", "beekeeper", "botanist", "bricklayer", "chemist", "clerk", "diver", "dressmaker", "gardener", "geologist",
		"jeweller", "judge", "lamplighter", "librarian", "locksmith", "midwife", "nightwatchman", "notary", "piano tuner",
		"pilot", "porter", "printer", "schoolteacher", "stonemason", "surveyor", "tailor", "translator", "typist",
	}
	women = []string{
		"Ada", "Alma", "Anouk", "Beatrix", "Bianca", "Carmen", "Clara", "Dagny", "Delia", "Edith",
		"Elif", "Esme", "Farah", "Flora", "Greta", "Hana", "Hedda", "Ida", "Ines", "Iris",
		"Jana", "Joan", "Kaja", "Keiko", "Lena", "Leonie", "Lucia", "Mabel", "Maren", "Marta",
		"Mina", "Nadia", "Nell", "Noor", "Olga", "Paula", "Petra", "Rania", "Rosa", "Ruth",
		"Saskia", "Selma", "Sylvia", "Tamar", "Thea", "Ulla", "Vera", "Willa", "Yara", "Zora",
	}
	men = []string{
		"Abel", "Albin", "Amir", "Anton", "Arlo", "Basil", "Bruno", "Cato", "Cyril", "Dario",
		"Edgar", "Emil", "Enzo", "Felix", "Finn", "Gideon", "Gustav", "Hamid", "Henrik", "Hugo",
		"Ivan", "Jasper", "Joel", "Jonas", "Kasimir", "Kofi", "Lars", "Leon", "Linus", "Magnus",
		"Marek", "Milo", "Nils", "Olaf", "Omar", "Oskar", "Pavel", "Piet", "Quentin", "Rafael",
		"Rolf", "Rufus", "Samir", "Silas", "Stefan", "Taro", "Theo", "Viktor", "Walter", "Yusuf",
	}
	families = []string{
		"Abendroy", "Ashgrove", "Balvenko", "Birkenvale", "Castellary", "Corvane", "Dalmersen", "Delacourtis",
		"Eastermann", "Elverhoy", "Fairwinter", "Farrowby", "Galdemar", "Grimsdotter", "Hallowell-Ames", "Hartovski",
		"Ilmarin", "Islebrook", "Jessamy", "Jorvald", "Karravel", "Kettleworth", "Lindqvarn", "Lorrington",
		"Mirabelli-Voss", "Morrowhale", "Nachtegaal", "Norrengard", "Okonjo-Reed", "Ostrander-Bly", "Pallister",
		"Penhallow", "Quarrington", "Ravenscar", "Silverdrake", "Solheimer", "Tamborini-Kay", "Thistlewood", "Vandermoor",
		"Wintersby",
	}
)
