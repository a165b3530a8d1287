/* EASY backfilling, first come first served: how fast a plain program replays a log, and the same starts to compare.

   easy FILE STARTS SECONDS: FILE holds, as the machine has them, int64 jobs and cores, then by job, in order of arrival,
   float64 submit, runtime and estimate and int64 cores, column by column. STARTS gets float64 start by job. It replays
   for so many CPU seconds at least, and prints those of the fastest replay. At an instant jobs end first, then arrive,
   then start; a job that outruns its estimate is expected to end now. */

#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t jobs, cores;
static double *submit, *runtime, *estimate, *start;
static int64_t *width;

static int64_t *queue, waiting;                                 /* in order of arrival */
static struct running { double end; int64_t job; } *runs, *due; /* by expected end; a heap by end */
static int64_t running;

static void *room(int64_t count, size_t size) {
    void *made = malloc((size_t)(count + 1) * size);
    if (made == NULL) exit(2);
    return made;
}

static void push(double end, int64_t job, int64_t at) {
    for (; at > 0 && due[(at - 1) / 2].end > end; at = (at - 1) / 2) due[at] = due[(at - 1) / 2];
    due[at] = (struct running){end, job};
}

static int64_t pop(int64_t left) { /* of `left` + 1 */
    int64_t job = due[0].job, at = 0;
    struct running last = due[left];
    for (int64_t child; (child = 2 * at + 1) < left; at = child) {
        if (child + 1 < left && due[child + 1].end < due[child].end) child++;
        if (due[child].end >= last.end) break;
        due[at] = due[child];
    }
    due[at] = last;
    return job;
}

static int64_t place(double end) { /* of the first that is expected to end then, or later */
    int64_t low = 0, high = running;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (runs[middle].end < end) low = middle + 1; else high = middle;
    }
    return low;
}

static int64_t begin(int64_t job, double now, int64_t free) {
    double end = now + estimate[job];
    int64_t at = place(end);
    start[job] = now;
    push(now + runtime[job], job, running);
    memmove(runs + at + 1, runs + at, (size_t)(running++ - at) * sizeof *runs);
    runs[at] = (struct running){end, job};
    return free - width[job];
}

static int64_t end(int64_t job, int64_t free) {
    int64_t at = place(start[job] + estimate[job]);
    while (runs[at].job != job) at++;
    memmove(runs + at, runs + at + 1, (size_t)(--running - at) * sizeof *runs);
    return free + width[job];
}

static int64_t decide(double now, int64_t free) {
    int64_t head = 0;
    while (head < waiting && width[queue[head]] <= free) free = begin(queue[head++], now, free);
    int64_t kept = head < waiting, extra = free;
    double shadow = -INFINITY;
    if (kept) { /* the head waits: when has it room, and what is left then? */
        queue[0] = queue[head];
        for (int64_t k = 0; k < running; k++) {
            double until = runs[k].end > now ? runs[k].end : now;
            if (extra >= width[queue[0]] && until > shadow) break;
            extra += width[runs[k].job];
            if (shadow == -INFINITY && extra >= width[queue[0]]) shadow = until;
        }
        extra -= width[queue[0]];
    }
    for (int64_t k = head + 1; k < waiting; k++) {
        int64_t job = queue[k];
        int outlasts = now + estimate[job] > shadow;
        if (width[job] <= free && (width[job] <= extra || !outlasts)) {
            free = begin(job, now, free);
            if (outlasts) extra -= width[job];
        } else queue[kept++] = job;
    }
    waiting = kept;
    return free;
}

static void replay(void) {
    int64_t free = cores, coming = 0;
    waiting = running = 0;
    while (coming < jobs || running > 0) {
        double now = running > 0 ? due[0].end : INFINITY;
        if (coming < jobs && submit[coming] < now) now = submit[coming];
        while (running > 0 && due[0].end == now) free = end(pop(running - 1), free);
        while (coming < jobs && submit[coming] == now) queue[waiting++] = coming++;
        free = decide(now, free);
    }
}

static double cpu_s(void) {
    struct timespec spent;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return (double)spent.tv_sec + 1e-9 * (double)spent.tv_nsec;
}

int main(int count, char **words) {
    FILE *in = count == 4 ? fopen(words[1], "rb") : NULL;
    if (in == NULL || fread(&jobs, 8, 1, in) != 1 || fread(&cores, 8, 1, in) != 1) return 2;
    void *columns[4];
    for (int k = 0; k < 4; k++) {
        columns[k] = room(jobs, 8);
        if (fread(columns[k], 8, (size_t)jobs, in) != (size_t)jobs) return 2;
    }
    submit = columns[0], runtime = columns[1], estimate = columns[2], width = columns[3];
    start = room(jobs, 8), queue = room(jobs, 8), runs = room(jobs, sizeof *runs), due = room(jobs, sizeof *due);
    double least = INFINITY;
    for (double begun = cpu_s(); least == INFINITY || cpu_s() - begun < atof(words[3]);) {
        double before = cpu_s();
        replay();
        least = fmin(least, cpu_s() - before);
    }
    FILE *out = fopen(words[2], "wb");
    if (out == NULL || fwrite(start, 8, (size_t)jobs, out) != (size_t)jobs || fclose(out) != 0) return 2;
    printf("%.9f\n", least);
    return 0;
}
