#ifndef HALYARD_LOWERING_CACHE_LINE_H
#define HALYARD_LOWERING_CACHE_LINE_H

namespace halyard {

/** Bytes that a processor fetches at once. */
constexpr int kCacheLine = 64;

}  // namespace halyard

#endif
