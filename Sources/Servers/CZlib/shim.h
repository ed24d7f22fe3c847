#pragma once
// zlib's own header; the include folder comes from pkg-config.
#include <zlib.h>
