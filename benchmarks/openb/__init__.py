"""The public GPU trace "openb" of Alibaba's cluster, placed in arrival order and as one batch.

Trace: github.com/alibaba/clusterdata, cluster-trace-gpu-v2023. Published rules and results:
Weng et al., "Beware of Fragmentation", USENIX ATC 2023, and its simulator,
github.com/hkust-adsl/kubernetes-scheduler-simulator.
"""
