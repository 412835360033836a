/* Preloaded, it shows a process a wall clock that is CLOCK_OFF seconds off; the monotonic clock stays as it is.
   Waits until a moment of the wall clock are moved back, so that they take as long as they would anywhere. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>

static time_t off(void) {
    const char *seconds = getenv("CLOCK_OFF");
    return seconds ? atol(seconds) : 0;
}

/* No machine has been up for 30 years: such a moment is one of the wall clock. */
static struct timespec moved_back(const struct timespec *until) {
    struct timespec moved = *until;
    if (moved.tv_sec > 1000000000) moved.tv_sec -= off();
    return moved;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += off();
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec precise;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (now) *now = precise.tv_sec;
    return precise.tv_sec;
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until) {
    static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    if (!real) real = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    struct timespec moved = moved_back(until);
    return real(condition, mutex, &moved);
}

int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict until) {
    static int (*real)(cnd_t *, mtx_t *, const struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "cnd_timedwait");
    struct timespec moved = moved_back(until);
    return real(condition, mutex, &moved);
}
