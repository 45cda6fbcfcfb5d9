"""Gates: one function and one file each, named by its code in the closed list (model/reasons.py).

The chain, in order. Gates of an owner and of a stage are judged once for all plugins that they hold, the others for
each plugin; all that hold are told. Concurrency comes last, over those that nothing else holds.

    owner    suspended, and of its rollout: budget for members, rejected and queue for those that come after it
    stage    stage, soak, wait, approval, unreachable (too many)
    plugin   validity, render-failed, veto, unreachable, in-flight, dependency, notice, freeze, window
    last     concurrency

A first install passes windows, a cluster that joins and a change that is not staged pass the gates of stages, an
emergency passes notice, soak, wait, windows, the queue and soft freezes; a way back is held by veto, unreachable,
in-flight, hard freezes and concurrency alone.
"""
