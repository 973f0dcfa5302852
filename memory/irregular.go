package memory

import "strings"

// irregular maps the forms of English verbs and nouns that no suffix explains
// to their base: lost to lose, children to child. It is a list of the language,
// not chosen by what answers better. Forms that are mostly another word are
// left out, such as rose, ground and lives.
var irregular = func() map[string]string {
	base := make(map[string]string)
	for _, list := range []string{
		// verbs: the base first, then its past tense and participle
		`arise arose arisen, awake awoke awoken, beat beaten, become became, begin began begun, bend bent, bite bit bitten,
		 bleed bled, blow blew blown, break broke broken, breed bred, bring brought, build built, burn burnt, buy bought,
		 catch caught, choose chose chosen, cling clung, come came, creep crept, deal dealt, dig dug, draw drew drawn,
		 dream dreamt, drink drank drunk, drive drove driven, eat ate eaten, fall fell fallen, feed fed, feel felt,
		 fight fought, find found, flee fled, fling flung, fly flew flown, forbid forbade forbidden, forget forgot forgotten,
		 forgive forgave forgiven, freeze froze frozen, get got gotten, give gave given, go went gone, grow grew grown,
		 hang hung, hear heard, hide hid hidden, hold held, keep kept, kneel knelt, know knew known, lead led, lean leant,
		 leap leapt, learn learnt, leave left, lend lent, light lit, lose lost, make made, mean meant, meet met,
		 mistake mistook mistaken, overcome overcame, overhear overheard, oversleep overslept, pay paid, prove proven,
		 rebuild rebuilt, redo redid redone, retell retold, rewrite rewrote rewritten, ride rode ridden, ring rang rung,
		 rise risen, run ran, say said, see saw seen, seek sought, sell sold, send sent, sew sewn, shake shook shaken,
		 shine shone, shoot shot, show shown, shrink shrank shrunk, sing sang sung, sink sank sunk, sit sat, sleep slept,
		 slide slid, sling slung, sneak snuck, speak spoke spoken, speed sped, spend spent, spill spilt, spin spun,
		 spring sprang sprung, stand stood, steal stole stolen, stick stuck, sting stung, strike struck stricken, string strung,
		 strive strove striven, swear swore sworn, sweep swept, swell swollen, swim swam swum, swing swung, take took taken,
		 teach taught, tear tore torn, tell told, think thought, throw threw thrown, undergo underwent undergone,
		 understand understood, undertake undertook undertaken, undo undid undone, wake woke woken, wear wore worn,
		 weave wove woven, weep wept, win won, withdraw withdrew withdrawn, withstand withstood, write wrote written`,
		// nouns: singular and plural
		`calf calves, child children, crisis crises, foot feet, goose geese, half halves, knife knives, loaf loaves, man men,
		 mouse mice, shelf shelves, thief thieves, tooth teeth, wife wives, wolf wolves, woman women`,
	} {
		for forms := range strings.SplitSeq(list, ",") {
			words := strings.Fields(forms)
			for _, form := range words[1:] {
				base[form] = words[0]
			}
		}
	}
	return base
}()
