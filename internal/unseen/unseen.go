// Package unseen knows the characters that a reader does not see where they
// stand. Text that others wrote must not hold them as they are: they can drive
// a terminal, begin a new line, reorder and hide what stands around them, or
// say something to a model that no person sees.
package unseen

import "unicode"

// Is reports whether r is such a character. The joiners are not, although they
// have no shape, nor are the two that choose the form of an emoji: they are
// parts of words and of emoji. The other variation selectors are, of which a
// row can spell any text.
func Is(r rune) bool {
	const (
		zeroWidthNonJoiner, zeroWidthJoiner = '\u200c', '\u200d'
		textPresentation, emojiPresentation = '\ufe0e', '\ufe0f'
	)
	switch r {
	case zeroWidthNonJoiner, zeroWidthJoiner, textPresentation, emojiPresentation:
		return false
	}
	return !unicode.IsGraphic(r) || unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
