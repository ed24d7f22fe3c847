// libpq's own header; the include folder comes from pkg-config.
#include <libpq-fe.h>
