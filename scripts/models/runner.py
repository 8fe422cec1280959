"""The C of a model: NAME.h, which programs include, and NAME.c, which calls its kernels one after the other."""

import math
import re

import numpy as np
import runner_branches
from calls import Scalar
from graph import BYTES, MOST
from groups_lua import in_comment
from read import unique

C_TYPES = {"float32": "float", "float64": "double", "float16": "uint16_t", "bfloat16": "uint16_t", "int64": "int64_t", "int32": "int32_t",
           "int16": "int16_t", "int8": "int8_t", "uint8": "uint8_t", "uint16": "uint16_t", "uint32": "uint32_t", "uint64": "uint64_t",
           "bool": "uint8_t"}
KINDS = {"float": "halide_type_float", "bfloat": "halide_type_bfloat", "int": "halide_type_int", "uint": "halide_type_uint"}

HEADER = '''/* The model {name}, of {file}. Written by `halyard compile`.
 *
 * Arrays lie dense, the last index innermost. {free}{device}
 * Functions return 0, or a code other than 0 with a text in halyard_last_error() (halyard/runtime.h). Any number of threads may
 * call {name}_run with one model at a time, each with a workspace of its own. */
#ifndef {guard}
#define {guard}

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

/** The weights in memory. */
typedef struct {name}_model {name}_model;

/** The free dimensions of a call. */
typedef struct {{
{sizes}}} {name}_sizes;

/** The caller's arrays. */
typedef struct {{
{arrays}}} {name}_arrays;

/** How many bytes a call needs: of its workspace, and of each array. */
typedef struct {{
    size_t workspace;
{bytes}}} {name}_bytes;

/** Maps the file of weights; `weights` is the path of {name}.weights. */
int {name}_load(const char *weights, {name}_model **model);

void {name}_unload({name}_model *model);

/** Asks what a call of these sizes needs. Fails where the model cannot take them. */
int {name}_measure(const {name}_sizes *sizes, {name}_bytes *bytes);

/** Computes the outputs. `workspace` has as many bytes as {name}_measure() says, and lies at a multiple of 64. Neither it nor an output shares
 * memory with another array, or the call is an error. */
int {name}_run(const {name}_model *model, const {name}_sizes *sizes, const {name}_arrays *arrays, void *workspace);

/** The same, and how many seconds each of its {count} calls took, in the order of the groups in the report that have a kernel. */
int {name}_time(const {name}_model *model, const {name}_sizes *sizes, const {name}_arrays *arrays, void *workspace, double *seconds);

#ifdef __cplusplus
}}
#endif

#endif
'''

SOURCE = '''/* Calls the kernels of {name} one after the other. Written by `halyard compile`. */
#include "{name}.h"

/* Members by their numbers: a name of the model may be a macro of the headers below. */
{members}
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <HalideRuntime.h>

{includes}
#define SLOTS {slots}

struct {name}_model {{
    const uint8_t *bytes;
    size_t length;
{device_members}}};

struct array {{
    halide_buffer_t buffer;
    halide_dimension_t dim[{rank}];
}};

static int fail(const char *text) {{
    halide_error(NULL, text);
    return -1;
}}

/* Of whole numbers, rounded down. */
static inline int64_t div_(int64_t a, int64_t b) {{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}}
static inline int64_t max_(int64_t a, int64_t b) {{
    return a > b ? a : b;
}}
static inline int64_t min_(int64_t a, int64_t b) {{
    return a < b ? a : b;
}}

/* The same where it may not be a number of 64 bits, which *bad then says. What check() has computed so is computed without asking
 * elsewhere. */
static inline int64_t try_add(int *bad, int64_t a, int64_t b) {{
    int64_t result;
    *bad |= __builtin_add_overflow(a, b, &result);
    return result;
}}
static inline int64_t try_mul(int *bad, int64_t a, int64_t b) {{
    int64_t result;
    *bad |= __builtin_mul_overflow(a, b, &result);
    return result;
}}
static inline int64_t try_div(int *bad, int64_t a, int64_t b) {{
    *bad |= b == 0 || (a == INT64_MIN && b == -1);
    return *bad ? 0 : div_(a, b);
}}
static inline int64_t try_max(int *bad, int64_t a, int64_t b) {{
    (void)bad;
    return max_(a, b);
}}
static inline int64_t try_min(int *bad, int64_t a, int64_t b) {{
    (void)bad;
    return min_(a, b);
}}

/* `extents` has the innermost dimension first. */
static void put(struct array *a, const void *at, int code, int bits, int rank, const int64_t *extents) {{
    memset(a, 0, sizeof *a);
    {place};
    a->buffer.type.code = (uint8_t)code;
    a->buffer.type.bits = (uint8_t)bits;
    a->buffer.type.lanes = 1;
    a->buffer.dimensions = rank;
    a->buffer.dim = a->dim;
    int64_t stride = 1;
    for (int d = 0; d < rank; d++) {{
        a->dim[d].extent = (int32_t)extents[d];
        a->dim[d].stride = (int32_t)stride;
        stride *= extents[d];
    }}
}}

/* With other strides than those of an array that lies dense. */
static inline void strided(struct array *a, const int64_t *strides) {{
    for (int d = 0; d < a->buffer.dimensions; d++) {{
        a->dim[d].stride = (int32_t)strides[d];
    }}
}}

{declarations}

/* Whether the processor has what the kernels need of it at least. */
static int can_run(void) {{
    static const int needed[] = {{{needed}}};
    uint64_t features[halide_target_feature_end / 64 + 1] = {{0}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {{
        features[needed[i] / 64] |= (uint64_t)1 << needed[i] % 64;
    }}
    return halide_can_use_target_features((int)(sizeof features / sizeof *features), features);
}}

{device_functions}int {name}_load(const char *path, {name}_model **model) {{
    char text[1024];
    *model = NULL;
    if (!can_run()) return fail("{name}: this processor has not all that the library is compiled for (--target): {instructions}");
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0) {{
        snprintf(text, sizeof text, "{name}: the weights %s cannot be read", path);
        if (file >= 0) close(file);
        return fail(text);
    }}
    void *bytes = status.st_size == {length} ? mmap(NULL, {length}, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    close(file);
    if (bytes == MAP_FAILED || memcmp(bytes, "{magic}", {magic_length}) != 0) {{
        if (bytes != MAP_FAILED) munmap(bytes, {length});
        snprintf(text, sizeof text, "{name}: %s has the weights of another model; they are made together with the library", path);
        return fail(text);
    }}
    *model = ({name}_model *)malloc(sizeof **model);
    if (*model == NULL) {{
        munmap(bytes, {length});
        return fail("{name}: out of memory");
    }}
    (*model)->bytes = (const uint8_t *)bytes;
    (*model)->length = {length};
    return {loaded};
}}

void {name}_unload({name}_model *model) {{
    if (model != NULL) {{
        {unload};
        free(model);
    }}
}}

/* Free dimensions, inputs, outputs and calls, to be compared with a report. */
const int32_t {name}_counts[4] = {{{counts}}};

/* Sizes that the model can take. */
static int check(const {name}_sizes *s) {{
    int bad = 0;
    (void)s;
    (void)bad;
{checks}
    return 0;
}}

/* Where the slots of the workspace begin; its length. */
static int64_t plan(const {name}_sizes *s, int64_t *slot) {{
    (void)s;
    (void)slot;
    int64_t end = 0;
{plan}
    return end;
}}

int {name}_measure(const {name}_sizes *s, {name}_bytes *bytes) {{
    int64_t slot[SLOTS + 1];
    const int code = check(s);
    if (code != 0) return code;
    bytes->workspace = (size_t)plan(s, slot);
{measures}
    return 0;
}}

struct bytes {{
    const void *at;
    int64_t length;
    const char *error;
}};

/* The error of an array that a call writes, from `written` on, and of which a byte is another one's, too: what is stored there would be read as
 * what was given. NULL where there is none. */
static const char *find_shared(const struct bytes *all, int count, int written) {{
    for (int i = written; i < count; i++) {{
        for (int k = 0; k < i; k++) {{
            const uintptr_t a = (uintptr_t)all[i].at, b = (uintptr_t)all[k].at;
            if (all[i].length > 0 && all[k].length > 0 && a < b + (uintptr_t)all[k].length && b < a + (uintptr_t)all[i].length) {{
                return all[i].error;
            }}
        }}
    }}
    return NULL;
}}

static double now(void) {{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}}

{sections}/* seconds: of each call, or NULL. */
static int {run}(const {name}_model *model, const {name}_sizes *s, const {name}_arrays *arrays, void *workspace, double *seconds) {{
    int64_t slot[SLOTS + 1];
    int code = check(s);
    if (code != 0) return code;
    if (model == NULL) return fail("{name}: the model is not loaded");
{pointer_checks}
    const int64_t end = plan(s, slot);
    if (end > 0 && (workspace == NULL || (uintptr_t)workspace % 64 != 0)) {{
        return fail("{name}: the workspace is not at a multiple of 64 bytes");
    }}
{begin}{apart}
    const char *const shared = find_shared(all, {count}, {first_output});
    if (shared != NULL) return fail(shared);
    uint8_t *const w = (uint8_t *)workspace;
    const uint8_t *const m = model->bytes;
    (void)w;
    (void)m;
{extents}
{frame}    double last = seconds != NULL ? now() : 0;
{calls}
    (void)last;
    return 0;
}}

{device_run}int {name}_run(const {name}_model *model, const {name}_sizes *s, const {name}_arrays *arrays, void *workspace) {{
    return run(model, s, arrays, workspace, NULL);
}}

int {name}_time(const {name}_model *model, const {name}_sizes *s, const {name}_arrays *arrays, void *workspace, double *seconds) {{
    return run(model, s, arrays, workspace, seconds);
}}
'''


# What differs between models in the memory of processors and of devices.
HOST = {"includes": "", "device_members": "", "device_functions": "", "loaded": "0", "unload": "munmap((void *)model->bytes, model->length)",
        "place": "a->buffer.host = (uint8_t *)at", "run": "run", "device_run": ""}

DEVICE_HEADER = """
 *
 * Arrays and workspace are memory of the device, and so are the weights, from {name}_load() on: of the context that the calling thread has then
 * (halyard/cuda.h). A call queues its kernels on the stream of the calling thread, and may be captured into a CUDA graph."""

CUDA = {
    "includes": """/* Of halyard/cuda.h and HalideRuntimeCuda.h. */
extern const struct halide_device_interface_t *halide_cuda_device_interface(void);
extern int halyard_cuda_wrap(struct halide_buffer_t *buffer, const void *pointer);
extern int halyard_cuda_unwrap(struct halide_buffer_t *buffer);
extern int halyard_cuda_synchronize(void);
extern int halyard_cuda_enter(int *pushed);
extern void halyard_cuda_leave(int pushed);
extern void halyard_cuda_set_scratch(void *memory, size_t bytes);
""",
    "place": "a->buffer.device = (uint64_t)(uintptr_t)at;\n    a->buffer.device_interface = halide_cuda_device_interface()",
    "run": "queue",
    "device_members": "    struct halide_buffer_t device;\n    halide_dimension_t dim;\n",
    "loaded": "upload(*model) == 0 ? 0 : (*model = NULL, -1)",
    "unload": "halide_device_free(NULL, &model->device)",
    "device_functions": """/* Moves the weights to the device, and frees the model where that fails. */
static int upload({name}_model *model) {{
    void *const bytes = (void *)model->bytes;
    memset(&model->device, 0, sizeof model->device);
    memset(&model->dim, 0, sizeof model->dim);
    model->dim.extent = (int32_t)({length} / 8);
    model->dim.stride = 1;
    model->device.host = (uint8_t *)bytes;
    model->device.type.code = halide_type_uint;
    model->device.type.bits = 64;
    model->device.type.lanes = 1;
    model->device.dimensions = 1;
    model->device.dim = &model->dim;
    int code = halide_device_malloc(NULL, &model->device, halide_cuda_device_interface());
    model->device.flags |= halide_buffer_flag_host_dirty;
    code = code != 0 ? code : halide_copy_to_device(NULL, &model->device, halide_cuda_device_interface());
    code = code != 0 ? code : halyard_cuda_synchronize();
    munmap(bytes, {length});
    model->device.host = NULL;
    model->bytes = (const uint8_t *)(uintptr_t)model->device.device;
    if (code != 0) {{
        if (model->device.device != 0) halide_device_free(NULL, &model->device);
        free(model);
    }}
    return code;
}}

/* Whether arrays of the caller are where kernels can reach them; asked once in a call. */
static int check_device(const void *pointer) {{
    struct array a;
    memset(&a, 0, sizeof a);
    a.buffer.type.bits = 8;
    a.buffer.type.lanes = 1;
    const int code = halyard_cuda_wrap(&a.buffer, pointer);
    if (code == 0) halyard_cuda_unwrap(&a.buffer);
    return code;
}}

""",
    "device_run": """/* With the context current for all of the calls, and their temporary arrays in the workspace. */
static int run(const {name}_model *model, const {name}_sizes *s, const {name}_arrays *arrays, void *workspace, double *seconds) {{
    int pushed;
    int code = halyard_cuda_enter(&pushed);
    if (code != 0) return code;
    code = queue(model, s, arrays, workspace, seconds);
    halyard_cuda_set_scratch(NULL, 0);
    halyard_cuda_leave(pushed);
    return code;
}}

""",
}


def in_string(text):
    """In a C string; names of nodes are anybody's."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", text).replace('"', "'").replace("\\", "/")


class Runner:
    def __init__(self, graph, sections, kernels, memory, weights, offsets, length, magic, file, target):
        self.target = target
        self.sections, steps = sections, list(kernels)
        self.graph, self.steps, self.kernels, self.memory = graph, steps, kernels, memory
        self.weights, self.offsets, self.length, self.magic, self.file = weights, offsets, length, magic, file
        self.name = graph.name
        self.number = {d: i for i, d in enumerate(graph.dimensions)}
        self.extents = {}
        self.asked = {}  # Sizes that the source computes
        self.most_dimensions = 1

    def c(self, size):
        self.asked[size] = None
        return size.text(self.dimension, lambda f, a, b: f"{f}_({a}, {b})")

    def dimension(self, name):
        return f"size_{self.number[name]}(s)"

    def tried(self, size):
        return size.calls(self.dimension, lambda f, a, b: f"try_{f}(&bad, {a}, {b})")

    def arrays(self):
        """(value, name) of inputs and outputs."""
        names, outputs = [v.name for v in self.graph.inputs], []
        of_inputs, taken = set(names), {*names, *self.graph.output_names}
        for n in self.graph.output_names:
            outputs.append(unique(n + "_out", taken) if n in of_inputs else n)
            taken.add(outputs[-1])
        return list(zip(self.graph.inputs, names)), list(zip(self.graph.outputs, outputs))

    def header(self):
        inputs, outputs = self.arrays()

        def line(value, name, const):
            shape = ", ".join(map(str, value.shape))
            return f"    {'const ' if const else ''}{C_TYPES[value.type]} *{name};  /* {value.type} [{shape}] */\n"
        sizes = "".join(f"    int32_t {d};  /* {low} to {high} */\n" for d, (low, high) in self.graph.dimensions.items())
        arrays = "".join(line(v, n, True) for v, n in inputs) + "".join(line(v, n, False) for v, n in outputs)
        free = "All sizes are fixed." if not sizes else f"Sizes that are free stand in {self.name}_sizes."
        return HEADER.format(device=DEVICE_HEADER.format(name=self.name) if self.target.on_gpu else "", name=self.name, file=in_comment(self.file), guard=f"HALYARD_MODEL_{self.name.upper()}_H", free=free, count=len(self.steps),
                             sizes=sizes or "    int32_t none;  /* the model has no free dimension */\n", arrays=arrays,
                             bytes="".join(f"    size_t {n};\n" for _, n in inputs + outputs))

    def source(self):
        inputs, outputs = self.arrays()
        number = {s: i for i, s in enumerate(self.steps)}
        functions, calls = "", ""
        for i, section in enumerate(self.sections):
            if len(section) == 1:
                calls += "".join(self.call(number[s], s) for s in section[0])
                continue
            for b, branch in enumerate(section):
                text = "".join(self.call(number[s], s) for s in branch)
                functions += runner_branches.function_of_branch(self.name, f"section_{i}_{b}", text)
            functions += runner_branches.function_of_section(f"section_{i}", section, self.kernels, self.extent)
            calls += (f"    if ((code = section_{i}(&frame, seconds)) != 0) return code;\n"
                      f"    if (seconds != NULL) last = now();\n")
        used = {k.key: k for k in self.kernels.values()}
        declarations = "\n".join(f"int {k.function}({', '.join(['int32_t'] * len(k.sizes) + [argument_type(a) for a in k.arguments])});"
                                 for k in used.values())
        names = [n for _, n in inputs + outputs]
        members = "".join(f"static inline int64_t size_{i}(const {self.name}_sizes *s) {{\n    return s->{d};\n}}\n" for d, i in self.number.items())
        members += "".join(f"static inline void *array_{i}(const {self.name}_arrays *a) {{\n    return (void *)a->{n};\n}}\n"
                           f"static inline void say_{i}({self.name}_bytes *b, int64_t bytes) {{\n    b->{n} = (size_t)bytes;\n}}\n"
                           for i, n in enumerate(names))
        counts = ", ".join(map(str, (len(self.number), len(inputs), len(outputs), len(self.steps))))
        pointers = "".join(f'    if (array_{i}(arrays) == NULL) return fail("{self.name}: the array {n} is missing");\n' for i, n in enumerate(names))
        plan = self.plan()
        apart = [f'        {{array_{i}(arrays), {self.c(v.bytes)}, "{self.name}: the output {n} shares memory with another array"}},\n'
                 for i, (v, n) in enumerate(inputs + outputs)]
        apart += [f'        {{workspace, end, "{self.name}: the workspace shares memory with an array"}},\n']
        apart = f"    const struct bytes all[] = {{\n{''.join(apart)}    }};"
        measures = "".join(f"    say_{i}(bytes, {self.c(v.bytes)});\n" for i, (v, _) in enumerate(inputs + outputs))
        extents = "".join(f"    const int64_t {n} = {self.c(s)};\n" for s, n in self.extents.items())
        frame = ""
        if functions:
            functions = runner_branches.frame(self.name) + functions
            values = ", ".join(self.extents.values()) or "0"
            frame = f"    const int64_t values[] = {{{values}}};\n    const struct frame frame = {{m, w, s, arrays, slot, values}};\n"
        device = {k: v.format(name=self.name, length=self.length) for k, v in (CUDA if self.target.on_gpu else HOST).items()}
        return SOURCE.format(**device, name=self.name, members=members, counts=counts, needed=", ".join(f"halide_target_feature_{i}" for i in self.target.needed), instructions=", ".join(self.target.needed), slots=len(self.memory.slots), length=self.length, magic=self.magic,
                             magic_length=len(self.magic), declarations=declarations, begin=self.begin(len(names)), checks=self.checks(), plan=plan, apart=apart, count=len(names) + 1, first_output=len(inputs), rank=self.most_dimensions,
                             measures=measures, pointer_checks=pointers, extents=extents, calls=calls, sections=functions, frame=frame)

    def checks(self):
        lines = []

        def check(condition, text):
            lines.append(f'    if (!({condition})) return fail("{self.name}: {text}");')
        for d, (low, high) in self.graph.dimensions.items():
            check(f"{self.dimension(d)} >= {low} && {self.dimension(d)} <= {high}", f"{d} has to be from {low} to {high}")
        # Kernels count the elements of all that they compute in 32 bits.
        values = [*self.graph.inputs, *(n.output for g in self.steps for n in g.nodes)]
        elements = dict.fromkeys(v.elements for v in values if v.elements.number is None)
        shapes = dict.fromkeys(s for v in values for s in v.shape if s.number is None)
        bounded = {**self.graph.bounded, **dict.fromkeys(elements)}
        sides = [side for a, b, _ in [*self.graph.conditions, *self.graph.least] for side in (a, b)]
        for s in dict.fromkeys([*self.asked, *shapes, *bounded, *sides]):
            if s.number is None and not (len(s.terms) == 1 and str(s) in self.graph.dimensions):
                lines.append(f"    (void){self.tried(s)};")
        check("!bad", "the sizes are too large: a number of elements or bytes is beyond 64 bits")
        for s in shapes:
            if s.terms.get((), 0) < 0 or len(s.dimensions()) != 1 or str(s) not in self.graph.dimensions:
                check(f"{self.c(s)} >= 1", f"the size {s} of an array has to be 1 or more")
        for s, where in bounded.items():
            what = f"an array of {s} elements" if where is None else f"{in_string(where)}, {s} elements,"
            check(f"{self.c(s)} <= {MOST}", f"{what} has more than 2^31 - 1")
        for a, b, why in self.graph.conditions:
            check(f"{self.c(a)} == {self.c(b)}", f"{a} has to be {b}: {in_string(why.split('error: ')[-1])}")
        for a, b, why in self.graph.least:
            check(f"{self.c(a)} >= {self.c(b)}", f"{a} has to be {b} or more: {in_string(why.split('error: ')[-1])}")
        return "\n".join(lines)

    def plan(self):
        lines = []
        for i, sizes in enumerate(self.memory.slots):
            text = self.c(sizes[0])
            for s in sizes[1:]:
                text = f"max_({text}, {self.c(s)})"
            lines.append(f"    slot[{i}] = end;\n    end += ({text} + 63) / 64 * 64;")
        return "\n".join(lines)

    def begin(self, arrays):
        """Of a call on a device: what it is given lies there, and temporary arrays of its kernels come from the last slot."""
        if not self.target.on_gpu:
            return ""
        places = [f"array_{i}(arrays)" for i in range(arrays)]
        lines = [f"    if ((code = check_device({p})) != 0) return code;\n" for p in places]
        lines.append("    if (end > 0 && (code = check_device(workspace)) != 0) return code;\n")
        if self.memory.scratch is not None:
            at = f"slot[{self.memory.scratch}]"
            lines.append(f"    halyard_cuda_set_scratch((uint8_t *)workspace + {at}, (size_t)(end - {at}));\n")
        return "".join(lines)

    def pointer(self, value):
        place = self.memory.of(value)
        if place.kind == "slot":
            return f"w + slot[{place.index}]"
        if place.kind == "weight":
            return f"m + {self.offsets[place.index]}"
        return f"array_{place.index + (0 if place.kind == 'input' else len(self.graph.inputs))}(arrays)"

    def extent(self, size):
        if size.number is not None:
            return str(size.number)
        return self.extents.setdefault(size, f"e{len(self.extents)}")

    def array(self, i, view):
        """The statement that says where an argument lies."""
        value, shape = view.base, view.shape
        self.most_dimensions = max(self.most_dimensions, len(shape))
        kind = "uint8" if value.stored == "bool" else value.stored
        extents = ", ".join(self.extent(s) for s in reversed(shape)) or "0"
        place = self.pointer(value) + (f" + {self.c(view.offset * BYTES[value.stored])}" if view.offset != 0 else "")
        made = (f"put(&a[{i}], {place}, {KINDS[kind.rstrip('0123456789')]}, {8 * BYTES[value.stored]}, {len(shape)}, "
                f"(const int64_t[]){{{extents}}});")
        if view.is_dense:
            return made
        return f"{made}\n        strided(&a[{i}], (const int64_t[]){{{', '.join(self.extent(s) for s in reversed(view.strides))}}});"

    def call(self, number, step):
        kernel = self.kernels[step]
        arrays = [a for a in kernel.arguments if not isinstance(a, Scalar)]
        places = {a: f"&a[{i}].buffer" for i, a in enumerate(arrays)}
        arguments = [f"(int32_t)({self.c(s)})" for s in kernel.sizes]
        arguments += [number_text(a) if isinstance(a, Scalar) else places[a] for a in kernel.arguments]
        puts = "".join(f"        {self.array(i, a)}\n" for i, a in enumerate(arrays))
        call = f"{kernel.function}({', '.join(arguments)})"
        wait = "if (seconds != NULL) code = halyard_cuda_synchronize();\n        if (code != 0) return code;\n        " if self.target.on_gpu else ""
        return (f"    {{ /* {step.name} */\n        struct array a[{len(arrays)}];\n{puts}        code = {call};\n"
                f"        if (code != 0) return code;\n        {wait}"
                f"if (seconds != NULL) seconds[{number}] = now() - last, last += seconds[{number}];\n    }}\n")


def argument_type(argument):
    return {"float32": "float", "int32": "int32_t"}[argument.type] if isinstance(argument, Scalar) else "struct halide_buffer_t *"


def number_text(scalar):
    """In C, to the last bit."""
    if scalar.type == "int32":
        return str(int(scalar.number))
    value = float(np.float32(scalar.number))
    return ("-" if value < 0 else "") + "__builtin_inff()" if math.isinf(value) else value.hex() + "f"
