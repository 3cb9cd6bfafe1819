#!/bin/sh
# One scheduled audit: reads the vCenter once, then writes the report in every form that is wanted.
#
# Where the vCenter is, who asks and where the password is come from the environment or the configuration
# file of vplacer (VPLACER_VCENTER, VPLACER_USERNAME, VPLACER_PASSWORD_FILE ...): nothing secret stands here.
#
#   VPLACER_AUDIT_STATE    folder of snapshot, history and reports (systemd's StateDirectory= sets
#                          STATE_DIRECTORY, which is taken otherwise)
#   VPLACER_METRICS_DIR    folder that node_exporter's textfile collector reads; unset = no metrics
#   VPLACER_AUDIT_MEASURE  1 = measure where VMs live, too (privilege Global.ServiceManagers)
#   VPLACER_AUDIT_WAIVERS  waivers file, if there is one
#
# Ends with the code of `vplacer audit`: 0 nothing to do, 2 findings, 5 part of the inventory was not read.
set -eu

state=${VPLACER_AUDIT_STATE:-${STATE_DIRECTORY:?set VPLACER_AUDIT_STATE to a folder}}
snapshot=$state/site.json.gz
history=$state/audit.sqlite

# The account may not see everything: what is missing is a finding and exit code 5, never silence.
if [ "${VPLACER_AUDIT_MEASURE:-0}" = 1 ]; then
  vplacer collect --quiet --allow-incomplete --force --measured -o "$snapshot"
else
  vplacer collect --quiet --allow-incomplete --force -o "$snapshot"
fi

report() { # FORMAT FILE: findings do not end the script, faults do
  code=0
  vplacer audit --quiet --from "$snapshot" --history "$history" --format "$1" --fail-on never -o "$2" || code=$?
  [ "$code" -eq 0 ] || [ "$code" -eq 5 ] || exit "$code"
}

report json "$state/audit.json"
if [ -n "${VPLACER_METRICS_DIR:-}" ]; then
  report prometheus "$VPLACER_METRICS_DIR/vplacer.prom"
fi

# Last, for the journal or the mail: the text, and the code that counts.
exec vplacer audit --from "$snapshot" --history "$history"
