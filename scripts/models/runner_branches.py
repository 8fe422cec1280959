"""The C of branches that may run beside each other (branches.py): a function for each branch, and one for each section."""

import re

import branches

FRAME = """/* What a call is made of, for branches on other threads. */
struct frame {{
    const uint8_t *m;
    uint8_t *w;
    const {name}_sizes *s;
    const {name}_arrays *arrays;
    const int64_t *slot, *e;
}};

/* Times are in nanoseconds, estimated: of one thread, and of all threads with a wait behind each kernel. */
struct branch {{
    int (*run)(const struct frame *f, double *seconds);
    double alone, together;
}};

struct beside {{
    const struct frame *f;
    struct branch **branches;
}};

static int run_beside(void *context, int i, uint8_t *closure) {{
    const struct beside *b = (const struct beside *)closure;
    (void)context;
    return b->branches[i]->run(b->f, NULL);
}}

/* Adds a kernel to a branch. */
static void add_kernel(struct branch *b, double alone, int threads) {{
    const double tasks = alone < {share} * (double)(threads - 1) ? (double)((int64_t)(alone / {share}) + 1) : threads;
    b->alone += alone;
    b->together += alone / tasks + (tasks > 1 ? {wait} : 0);
}}

/* Runs branches that need nothing of each other: the shortest beside each other, as many as gain most by it, the others one after the other.
 * Results are the same either way. */
static int run_branches(struct branch *branches, int count, const struct frame *f, int threads, double *seconds) {{
    struct branch *order[{most}];
    int beside = 0;
    for (int i = 0; i < count; i++) {{
        int at = i;
        for (; at > 0 && order[at - 1]->alone > branches[i].alone; at--) order[at] = order[at - 1];
        order[at] = &branches[i];
    }}
    if (seconds == NULL && threads > 1) {{
        double total = 0, together = 0, best = 0;
        for (int i = 0; i < count; i++) {{
            total += order[i]->alone;
            together += order[i]->together;
            const double longest = order[i]->alone > total / threads ? order[i]->alone : total / threads;
            if (i > 0 && longest + {wait} < 0.9 * together && together - longest > best) {{
                best = together - longest;
                beside = i + 1;
            }}
        }}
    }}
    for (int i = beside; i < count; i++) {{
        const int code = order[i]->run(f, seconds);
        if (code != 0) return code;
    }}
    for (int i = 0; i < beside / 2; i++) {{ /* the longest begin */
        struct branch *const other = order[i];
        order[i] = order[beside - 1 - i];
        order[beside - 1 - i] = other;
    }}
    struct beside b = {{f, order}};
    return beside > 0 ? halide_do_par_for(NULL, run_beside, 0, beside, (uint8_t *)&b) : 0;
}}

"""


def frame(name):
    return FRAME.format(name=name, share=branches.SHARE, wait=branches.WAIT, most=branches.MOST_BRANCHES)


def function_of_branch(name, function, calls):
    """`calls`: its text, which names what a frame has."""
    extents = "".join(f"    const int64_t {n} = f->e[{n[1:]}];\n" for n in sorted(set(re.findall(r"\be\d+\b", calls)), key=lambda n: int(n[1:])))
    return (f"static int {function}(const struct frame *f, double *seconds) {{\n"
            "    const uint8_t *const m = f->m;\n    uint8_t *const w = f->w;\n    const int64_t *const slot = f->slot;\n"
            f"    const {name}_sizes *const s = f->s;\n    const {name}_arrays *const arrays = f->arrays;\n"
            "    (void)m, (void)w, (void)slot, (void)s, (void)arrays;\n"
            f"{extents}    int code = 0;\n    double last = seconds != NULL ? now() : 0;\n{calls}    (void)last;\n    return code;\n}}\n\n")


def function_of_section(function, section, kernels, extent):
    """`extent`: what the text of a Size is in a frame's function."""
    def size(s):
        text = extent(s)
        return f"f->e[{text[1:]}]" if text.startswith("e") else text
    lines = [f"static int {function}(const struct frame *f, double *seconds) {{", "    const int threads = halide_get_num_threads();",
             f"    struct branch b[{len(section)}] = {{{', '.join(f'{{{function}_{i}, 0, 0}}' for i in range(len(section)))}}};"]
    for i, branch in enumerate(section):
        lines += [f"    add_kernel(&b[{i}], {branches.cost_of(step, kernels[step]).text(size)}, threads);" for step in branch]
    return "\n".join([*lines, f"    return run_branches(b, {len(section)}, f, threads, seconds);", "}", "", ""])
