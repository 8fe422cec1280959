// Local tone by Laplacian pyramids of pictures that are remapped for some levels of brightness, as Halide's
// local_laplacian has it, whose Vars have no names, and whose Funcs have none by `named=false`. A stock generator that knows nothing of
// Halyard and has no schedule.

#include <Halide.h>

namespace {

using namespace Halide;

class ToneLaplacian : public Generator<ToneLaplacian> {
public:
    GeneratorParam<int> levels{"levels", 6, 2, 12};

    GeneratorParam<bool> named{"named", true};

    Input<Buffer<uint16_t, 3>> input{"input"};  // [x, y, channel]
    Input<int> tones{"tones"};
    Input<float> strength{"strength"};
    Output<Buffer<uint16_t, 3>> toned{"toned"};

    void generate() {
        const int n = levels;
        const Func edge = BoundaryConditions::repeat_edge(input);
        Func detail = func("detail"), gray = func("gray"), color = func("color");
        const Expr fine = cast<float>(i) / 256.0f;
        detail(i) = strength * fine * exp(-fine * fine / 2.0f);
        gray(x, y) = (0.299f * edge(x, y, 0) + 0.587f * edge(x, y, 1) + 0.114f * edge(x, y, 2)) / 65535.0f;
        std::vector<Func> tone(n), plain(n), laplace(n), out(n);
        tone[0] = func("tone_0");
        const Expr level = k * (1.0f / (tones - 1));
        const Expr index = clamp(cast<int>(gray(x, y) * cast<float>(tones - 1) * 256.0f), 0, (tones - 1) * 256);
        tone[0](x, y, k) = (gray(x, y) - level) + level + detail(index - 256 * k);
        plain[0] = gray;
        for (int l = 1; l < n; l++) {
            tone[l] = coarser(tone[l - 1], "tone_" + std::to_string(l), true);
            plain[l] = coarser(plain[l - 1], "plain_" + std::to_string(l), false);
        }
        for (int l = n - 1; l >= 0; l--) {
            laplace[l] = func("laplace_" + std::to_string(l));
            laplace[l](x, y, k) =
                l == n - 1 ? tone[l](x, y, k) : tone[l](x, y, k) - finer(tone[l + 1], "of_" + std::to_string(l), true)(x, y, k);
            Func mixed = func("mixed_" + std::to_string(l));
            const Expr at = plain[l](x, y) * cast<float>(tones - 1), low = clamp(cast<int>(at), 0, tones - 2), part = at - low;
            mixed(x, y) = (1.0f - part) * laplace[l](x, y, low) + part * laplace[l](x, y, low + 1);
            out[l] = func("out_" + std::to_string(l));
            out[l](x, y) = l == n - 1 ? mixed(x, y) : finer(out[l + 1], "sum_" + std::to_string(l), false)(x, y) + mixed(x, y);
        }
        color(x, y, c) = out[0](x, y) * edge(x, y, c) / max(gray(x, y), 0.01f);
        toned(x, y, c) = cast<uint16_t>(clamp(color(x, y, c), 0.0f, 65535.0f));
        tones.set_estimate(8);
        strength.set_estimate(1.0f);
        input.set_estimates({{0, 1536}, {0, 2560}, {0, 3}});
        toned.set_estimates({{0, 1536}, {0, 2560}, {0, 3}});
    }

private:
    Func func(const std::string &name) const {
        return named ? Func(name) : Func();
    }

    Func coarser(const Func &f, const std::string &name, bool deep) {
        Func across = func(name + "_across"), down = func(name);
        const auto rest = [&](const Expr &a, const Expr &b) { return deep ? f(a, b, k) : f(a, b); };
        if (deep) {
            across(x, y, k) = (rest(2 * x - 1, y) + 3.0f * (rest(2 * x, y) + rest(2 * x + 1, y)) + rest(2 * x + 2, y)) / 8.0f;
            down(x, y, k) =
                (across(x, 2 * y - 1, k) + 3.0f * (across(x, 2 * y, k) + across(x, 2 * y + 1, k)) + across(x, 2 * y + 2, k)) / 8.0f;
        } else {
            across(x, y) = (rest(2 * x - 1, y) + 3.0f * (rest(2 * x, y) + rest(2 * x + 1, y)) + rest(2 * x + 2, y)) / 8.0f;
            down(x, y) = (across(x, 2 * y - 1) + 3.0f * (across(x, 2 * y) + across(x, 2 * y + 1)) + across(x, 2 * y + 2)) / 8.0f;
        }
        return down;
    }

    Func finer(const Func &f, const std::string &name, bool deep) {
        Func across = func(name + "_across"), up = func(name);
        if (deep) {
            across(x, y, k) = 0.25f * f((x / 2) - 1 + 2 * (x % 2), y, k) + 0.75f * f(x / 2, y, k);
            up(x, y, k) = 0.25f * across(x, (y / 2) - 1 + 2 * (y % 2), k) + 0.75f * across(x, y / 2, k);
        } else {
            across(x, y) = 0.25f * f((x / 2) - 1 + 2 * (x % 2), y) + 0.75f * f(x / 2, y);
            up(x, y) = 0.25f * across(x, (y / 2) - 1 + 2 * (y % 2)) + 0.75f * across(x, y / 2);
        }
        return up;
    }

    const Var x, y, c, k, i;
};

}  // namespace

HALIDE_REGISTER_GENERATOR(ToneLaplacian, tone_laplacian)
