package walk

func setTypesUnknown(v bool) (old bool) {
	old, typesUnknown = typesUnknown, v
	return old
}
