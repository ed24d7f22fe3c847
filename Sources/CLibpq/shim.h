// libpq's own header; the include folder comes from pkg-config.
#include <libpq-fe.h>
// Wakes the thread that polls a connection; not part of Swift's Glibc module.
#include <sys/eventfd.h>
