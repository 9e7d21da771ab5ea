/* What every wait for SLURM needs: signals of the user, and the time between two questions. */
#include "run/targets/slurm_job.h"

#include <signal.h>

static volatile sig_atomic_t interrupts, hang_ups;

static void note_signal(int number)
{
    if (number == SIGHUP)
        hang_ups = 1;
    else
        interrupts = interrupts + 1;
}

static const int watched[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGPIPE};
static struct sigaction before[GT_LENGTH(watched)];

void gt_slurm_watch_signals(void)
{
    interrupts = hang_ups = 0;
    for (size_t i = 0; i < GT_LENGTH(watched); i++) {
        struct sigaction action = {.sa_handler = watched[i] == SIGPIPE ? SIG_IGN : note_signal};
        sigemptyset(&action.sa_mask);
        sigaction(watched[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) sigaction(watched[i], &action, NULL); /* nohup ignores SIGHUP */
    }
}

void gt_slurm_restore_signals(void)
{
    for (size_t i = 0; i < GT_LENGTH(watched); i++) sigaction(watched[i], &before[i], NULL);
}

int gt_slurm_interrupts(void)
{
    return interrupts;
}

bool gt_slurm_hung_up(void)
{
    return hang_ups;
}

void gt_slurm_take_signal(gt_slurm_job *job)
{
    if (job->interrupted) note_signal(job->interrupted);
    job->interrupted = 0;
}

double gt_slurm_poll_s(void)
{
    const char *text = getenv("GPUTALLY_SLURM_POLL_SECONDS");
    double given = text ? strtod(text, NULL) : 0;
    return given > 0 ? given : 0;
}

double gt_slurm_next_pause(double *pause_s, int silences)
{
    double given = gt_slurm_poll_s(), most = given > 0 ? given : 30;
    if (*pause_s == 0 || given > 0) *pause_s = given > 0 ? given : 1;
    double now_s = *pause_s;
    *pause_s = *pause_s * 1.5 < most ? *pause_s * 1.5 : most;
    for (int i = 0; i < silences && now_s < most * 10; i++) now_s *= 2;
    return now_s < most * 10 ? now_s : most * 10;
}
