package memory

import "strings"

// stopWords are the English words that hold a question together without
// telling what it is about, in the form of splitWords. Inverse document
// frequency does much the same, but not where every entry is a short fact:
// there the words of asking (did, which, your) are rare, and would decide.
var stopWords = func() map[string]bool {
	set := make(map[string]bool)
	for _, class := range []string{
		// articles and the like
		`a an the this that these those such same other another any some each every both either neither all most more
		 few own no nor not only very too so just also than then else ever`,
		// pronouns
		`i me my mine myself you your yours yourself yourselves we us our ours ourselves he him his himself she her hers
		 herself it its itself they them their theirs themselves`,
		// prepositions and conjunctions
		`about above after again against among around as at because before below between but by down during for from
		 further if in into of off on once onto or out over since through to toward towards under until up upon while
		 with within without and here there`,
		// auxiliaries
		`am is are was were be been being do does did doing done have has had having can could may might must shall
		 should will would`,
		// words of asking
		`what when where which who whom whose why how`,
		// contractions, their apostrophes cut
		`im ive id youre youve youd youll weve theyre theyve theyd theyll hes shes thats whos hed shed itll ill arent isnt
		 wasnt werent dont doesnt didnt havent hasnt hadnt cant cannot couldnt mightnt mustnt shant shouldnt wont wouldnt`,
	} {
		for _, word := range strings.Fields(class) {
			set[word] = true
		}
	}
	return set
}()
