#!/bin/bash
# Reads the traces of a folder in a job array of SLURM and then writes the report of all ranks in one more job.
#
#     slurm.sh FOLDER [TASKS]       TASKS tasks (default 16) share the traces; the folder must be visible on all nodes
#
# Set SBATCH_PARTITION, SBATCH_ACCOUNT and the like, as for any job; GPUTALLY if the program is not on the PATH;
# CPUS for the CPUs of each task (default 4). Run it again after a failure: traces that have been read are not
# read again. Prints the number of the last job; logs are in FOLDER/logs.
set -eu

FOLDER=$(realpath "$1") TASKS=${2:-16} CPUS=${CPUS:-4} GPUTALLY=${GPUTALLY:-gputally}
export FOLDER TASKS CPUS GPUTALLY
mkdir -p "$FOLDER/logs"

array=$(sbatch --parsable --job-name=gputally-partial --array="0-$((TASKS - 1))" --cpus-per-task="$CPUS" \
    --output="$FOLDER/logs/partial-%a.log" <<'JOB'
#!/bin/bash
exec "$GPUTALLY" partial "$FOLDER" --share "$SLURM_ARRAY_TASK_ID/$TASKS" --threads "$CPUS"
JOB
)

# afterany, not afterok: a trace that is damaged must not stop the report, which says which rank is missing.
sbatch --parsable --job-name=gputally-merge --dependency="afterany:$array" --cpus-per-task="$CPUS" \
    --output="$FOLDER/logs/merge.log" <<'JOB'
#!/bin/bash
exec "$GPUTALLY" merge "$FOLDER"
JOB
