"""The population of sizes that models really run, and how cases are drawn from it.

    architectures    what public models look like: hidden sizes, heads, vocabularies, images, each with its source
    numbers          random numbers that depend on a key only
    case             one case: an op, its sizes, type, parameters and layout, and where they come from
    rows, products, attention, images     how a case of each op is made of an architecture
    draw             case number `index` of a seed; cost: its bytes and operations; rules: what each op allows
"""
